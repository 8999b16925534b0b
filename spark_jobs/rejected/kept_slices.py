"""Kept slices: stores the slices of a batch in ops.slices, all or none.

They leave no offset out that Kafka still has: where the sum of their records is what the batch
read, the offsets between two of them have none. If the notes of a task were lost, none is stored.
repair/offsets/holes.py says what may be at offsets without a slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pyarrow as pa

from spark_jobs.checkpoint.run import Run
from spark_jobs.decode.slices import NO_TIMES, Ids, Slice, summed
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.rejected.rejected_store import key
from spark_jobs.source.micro_batch import Batch


def keep_slices(run: Run, batch: Batch, part: Batch, slices: list[Slice], read: int) -> Ids | None:
    """The ids of schemas in the part of the batch that was read; None if a note was lost. Store
    the slices of it, in place of what an earlier try stored:
    that stays, if there are none now. `read` is how many records Spark read.
    """
    whole = stretched(slices, part, read)
    if not whole:
        return None
    where = key(run, batch)
    rows = _table({**where, "run_id": run.run_id}, whole)
    ops_tables.replace(run.paths.root, "slices", rows, ops_tables.equals(where), run.lease)
    return summed(each.schemas for each in whole)


def stretched(slices: Iterable[Slice], part: Batch, read: int) -> list[Slice]:
    """Each up to the next one, so that they are all offsets of the part; none if records are
    missing.

    >>> first = Slice(0, 12, 18, 2, NO_TIMES, NO_TIMES, 0, NO_TIMES)
    >>> from spark_jobs.source.positions import Positions
    >>> part = Batch(7, Positions({0: 10, 1: 3}), Positions({0: 30, 1: 5}), 0, 0)
    >>> found = stretched([first, first._replace(first_offset=25, last_offset=26)], part, 4)
    >>> [(each.partition, each.first_offset, each.last_offset, each.records) for each in found]
    [(0, 10, 24, 2), (0, 25, 29, 2), (1, 3, 4, 0)]
    """
    noted = sorted(slices)
    if sum(each.records for each in noted) != read:
        return []
    of = {place: [*group] for place, group in groupby(noted, lambda each: each.partition)}
    return [
        each
        for partition, [(first, stop)] in sorted(part.parts.items())
        for each in _of_partition(partition, of.get(partition, []), first, stop)
    ]


def _of_partition(partition: int, noted: list[Slice], start: int, end: int) -> Iterator[Slice]:
    if start >= end:
        return
    if not noted:
        noted = [Slice(partition, start, end - 1, 0, NO_TIMES, NO_TIMES, 0, NO_TIMES)]
    ends = [each.first_offset for each in noted[1:]] + [end]
    for each, stop in zip(noted, ends, strict=True):
        yield each._replace(first_offset=start, last_offset=stop - 1)
        start = stop


def _table(same: dict[str, str | int], slices: list[Slice]) -> pa.Table:
    schema = SCHEMAS["slices"]
    columns = {name: [value] * len(slices) for name, value in same.items()} | {
        "partition": [each.partition for each in slices],
        "first_offset": [each.first_offset for each in slices],
        "last_offset": [each.last_offset for each in slices],
        "records": [each.records for each in slices],
        "first_event_time": [each.times.first if each.times else None for each in slices],
        "last_event_time": [each.times.last if each.times else None for each in slices],
        "late": [each.late for each in slices],
        "first_late_time": [each.late_times.first if each.late else None for each in slices],
        "last_late_time": [each.late_times.last if each.late else None for each in slices],
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema)
