"""Batch offsets: what Kafka shows at a batch's offsets now, and what is at those without a record.

Only Kafka can say that a gap is one. The records are fetched again, and counted in the JVM: nothing
is decoded, and no Python worker starts.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import SparkSession, functions as F

from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.port import Source


class Visible(NamedTuple):
    """What Kafka has at the batch's offsets now."""

    committed: int
    """Records that a read_committed consumer sees, as Spark is one."""
    aborted: int = 0
    """Those that only a read_uncommitted consumer sees: of aborted transactions."""
    there: Batch | None = None
    """The part of the batch that retention has left; None if nobody has asked."""


def visible(source: Source, spark: SparkSession, batch: Batch) -> Visible:
    """Count in both ways, in one Spark job."""
    there = batch.since(source.earliest(batch.end.partitions))
    seen = [
        source.read(spark, there.parts, uncommitted=every).select(F.lit(every).alias("every"))
        for every in (False, True)
    ]
    every = F.col("every")
    counted = seen[0].unionAll(seen[1]).agg(F.count_if(~every), F.count_if(every)).collect()
    [(few, many)] = counted
    return Visible(few, max(many - few, 0), there)


class Gaps(NamedTuple):
    """A number of gaps, told apart."""

    aborted: int
    markers: int
    removed: int


def tell_apart(gaps: int, aborted: int, gone: int, *, compacted: bool) -> Gaps:
    """`aborted`: of them, those that a read_uncommitted consumer sees. `gone`: those before the
    first offset that retention has left.

    What is left has no record for anybody: transaction markers, unless Kafka compacts the topic. A
    broker does not tell a marker from a record that compaction removed.

    >>> tell_apart(8, aborted=5, gone=0, compacted=False)
    Gaps(aborted=5, markers=3, removed=0)
    >>> tell_apart(8, aborted=5, gone=0, compacted=True)
    Gaps(aborted=5, markers=0, removed=3)
    """
    aborted = min(aborted, gaps)
    gone = min(gone, gaps - aborted)
    markers = 0 if compacted else gaps - aborted - gone
    return Gaps(aborted, markers, gaps - aborted - markers)
