"""Touched: the versions of a History's table on which the chains of a batch depend. Without Spark.

Most changes are newer than all that the table has of their key. Of such a key its newest version is
enough, which nothing has ended: the older ones are neither read nor written. It begins where the
chain says already, which may be later than its own time.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.sink.keyed.versions import BEGINS, Flags, placing, ranks
from spark_jobs.spec import History
from spark_jobs.spec.steps.history import CURRENT, SPAN, VALID_FROM, VALID_TO
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from spark_jobs.spec.steps.union import Keyed

NEWEST = pc.field(CURRENT) | (pc.field(DELETED) & pc.is_null(pc.field(VALID_TO)))
"""What nothing has ended. The first half is a partition of the table, and so is DELETED."""


def touched(table: Dataset, changes: pa.Table, step: History) -> pa.Table:
    """The versions with which `chain` makes the chains of these changes' keys: of a key with a
    change that is not newer than its newest version, all; of another that one. Others may be among
    them, with all of their key.

    Columns: `placing`, BEGINS and SPAN.
    """
    newest = _read(table, NEWEST, VALID_FROM, changes, step)
    late = _late(newest, changes, step)
    if not late.any():
        return newest
    late_changes = changes.filter(pa.array(late))
    every = _read(table, pc.scalar(True), step.time, late_changes, step)
    return pa.concat_tables([_others(newest, every, step), every])


def misplaced(versions: pa.Table, step: Keyed) -> dict[str, object] | None:
    """A key with several rows at one place, or one without a place: a person's; None without one.
    The key's columns.
    """
    keys = versions.select(step.keys)
    for name in placing(step):
        if versions[name].null_count:
            return _first(keys.filter(pc.is_null(versions[name])))
    several = versions.group_by(list(step.row_key)).aggregate([([], "count_all")])
    several = several.filter(pc.greater(several["count_all"], 1))
    return _first(several.select(step.keys)) if several.num_rows else None


def _first(rows: pa.Table) -> dict[str, object]:
    found: dict[str, object] = rows.slice(0, 1).to_pylist()[0]
    return found


def _read(
    table: Dataset, where: pc.Expression, begins: str, changes: pa.Table, step: History
) -> pa.Table:
    """What the table has of the keys of the changes. Of a key of several columns also of others
    that are made of their values: of a key all rows, or none.
    """
    columns = {name: pc.field(name) for name in (*placing(step), *SPAN)}
    columns[BEGINS] = pc.field(begins)
    # A filter by keys would be held against the statistics of the files too, which delta-rs may
    # give as another type of text than the columns.
    rows = table.scanner(columns=columns, filter=where)
    found = [batch.filter(may_be(batch, changes, step)) for batch in rows.to_batches()]
    return pa.Table.from_batches(found, rows.projected_schema)


def may_be(batch: pa.RecordBatch, changes: pa.Table, step: Keyed) -> pa.Array:
    """boolean: whether each column of the key has a value of one of the changes."""
    of_keys = (
        pc.is_in(batch[key], value_set=pc.unique(changes[key]).cast(batch[key].type))
        for key in step.keys
    )
    return reduce(pc.and_, of_keys)


def _late(newest: pa.Table, changes: pa.Table, step: History) -> Flags:
    """Whether each change is not newer than its key's newest version."""
    place = changes.select(step.row_key)
    both = pa.concat_tables([newest.select(step.row_key).cast(place.schema), place])
    key, order = ranks(both, step.keys), ranks(both, step.order_by)
    known = newest.num_rows
    last = np.full(key.max(initial=-1) + 1, -1)
    last[key[:known]] = order[:known]
    late: Flags = order[known:] <= last[key[known:]]
    return late


def _others(newest: pa.Table, every: pa.Table, step: History) -> pa.Table:
    """Those of whose keys `every` has no row."""
    both = ranks(pa.concat_tables([newest.select(step.keys), every.select(step.keys)]), step.keys)
    known = newest.num_rows
    return newest.filter(pa.array(~np.isin(both[:known], both[known:])))
