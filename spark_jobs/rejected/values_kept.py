"""Values kept: of the rejected elements of a value with many records, the first has the value's
bytes. The records that a query passes on have none: one value would be there for each of them.

So the values of these places are read once more from where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window, functions as F

from spark_jobs.ops.schema import RAW
from spark_jobs.rejected.rejected_record import RejectedRecord
from spark_jobs.source.place import Place
from spark_jobs.source.sources import source_of
from spark_jobs.steps.classify import Outcome
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from spark_jobs.checkpoint.run import Run
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline

PLACE = ("partition", "offset")
RANK = own("rank")
MOST_PLACES = 1_000
"""Values that are read for the driver. Executors join more."""
MOST_BYTES = 32_000_000
"""Of these together."""


def with_bytes(
    run: Run, spec: Pipeline, records: Sequence[RejectedRecord]
) -> list[RejectedRecord] | None:
    """The records, the first of each value and ops table with its bytes; None where too many values
    have some, or one is gone.
    """
    if not records:
        return []
    ordered = sorted(records, key=_order)
    first = {
        (_table(each.outcome), each.partition, each.offset): n
        for n, each in reversed([*enumerate(ordered)])
    }
    places = {Place(partition, offset) for _, partition, offset in first}
    if len(places) > MOST_PLACES:
        return None
    values = _read(run, spec, places)
    if values.keys() != places:
        return None
    return [
        each._replace(**values[Place(each.partition, each.offset)])
        if first[_table(each.outcome), each.partition, each.offset] == n
        else each
        for n, each in enumerate(ordered)
    ]


def joined_bytes(run: Run, spec: Pipeline, part: Batch, rejected: DataFrame) -> DataFrame:
    """The same of any number: `rejected` has a column for each field of RejectedRecord, of records
    of this part of a batch.
    """
    read = source_of(spec, run.settings).read(run.spark, part.parts)
    return with_values(rejected, read, spec)


def with_values(rejected: DataFrame, values: DataFrame, spec: Pipeline) -> DataFrame:
    """The same of any records, and values as source/port.py reads them, each once."""
    late = F.col("outcome") == Outcome.LATE.value
    same = Window.partitionBy(late, *PLACE).orderBy(F.col("element").asc_nulls_first())
    ranked = rejected.withColumn(RANK, F.row_number().over(same))
    first = ranked.where(F.col(RANK) == 1).drop(*RAW)
    first = first.join(_columns(values, spec), [*PLACE], "left")
    more = ranked.where(F.col(RANK) > 1)
    return first.unionByName(more).select(*rejected.columns)


def _order(record: RejectedRecord) -> tuple[int, int, int]:
    number = -1 if record.element is None else record.element
    return record.partition, record.offset, number


def _table(outcome: Outcome) -> bool:
    """Which ops table has it: whether it is ops.late."""
    return outcome is Outcome.LATE


def _columns(values: DataFrame, spec: Pipeline) -> DataFrame:
    """PLACE and RAW, headers null where nobody reads them."""
    raw = [F.col(f"{KAFKA}.raw.{name}") for name in RAW[:2]]
    headers = F.col(f"{KAFKA}.raw.headers")
    if not spec.inputs.reads_headers:
        headers = F.lit(None).cast("string").alias("headers")
    return values.select(*(f"{KAFKA}.{name}" for name in PLACE), *raw, headers)


def _read(run: Run, spec: Pipeline, places: Collection[Place]) -> dict[Place, dict[str, Any]]:
    """The bytes of these that are there, if they are few."""
    partitions = {place.partition for place in places}
    of = {p: sorted(place.offset for place in places if place.partition == p) for p in partitions}
    earliest = run.source.earliest(partitions)
    if any(earliest.passed(place) for place in places):
        return {}
    parts: Parts = {p: ((at[0], at[-1] + 1),) for p, at in of.items()}
    rows = _columns(source_of(spec, run.settings).read(run.spark, parts), spec)
    sought = reduce(
        or_, ((F.col("partition") == p) & F.col("offset").isin(at) for p, at in of.items())
    )
    small = sum((F.coalesce(F.octet_length(name), F.lit(0)) for name in RAW[:2]), F.lit(0))
    found = rows.where(sought & (small <= MOST_BYTES // len(places))).toArrow().to_pylist()
    return {
        Place(row["partition"], row["offset"]): {name: row[name] for name in RAW} for row in found
    }
