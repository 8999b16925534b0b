"""Record counts: a batch's records by outcome, what values with many records came to, and what
Kafka shows at the batch's offsets now.

Only Kafka can say that a gap is one. The records are fetched again, and counted in the JVM: nothing
is decoded, and no Python worker starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import SparkSession, functions as F

from spark_jobs.audit.progress import Progress
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.port import Source
from spark_jobs.spec import Pipeline
from spark_jobs.steps.capture import CLASSIFIED_SEEN


class RecordCounts(NamedTuple):
    """A batch's records by outcome: all of them if Kafka was read again, else only the captured
    ones.
    """

    read: int = 0
    elements: int | None = None
    """Of values with many records: these; None of others, and if Kafka was not read again."""
    with_elements: int = 0
    empty: int = 0
    refused: int = 0
    undated: int = 0
    malformed: int = 0
    premature: int = 0
    late: int = 0
    unkept: int = 0
    """Malformed and premature records whose bytes are not kept (rejected/rejected_store.py)."""
    accepted: int = 0
    first_event_us: int | None = None
    last_event_us: int | None = None
    reread: bool = True
    gone: int = 0
    """Offsets that retention removed before Kafka was read again."""
    compacted: bool = False
    """Whether Kafka compacts the topic: then a record may be removed between two readings."""
    aborted: int = 0
    """Records of aborted transactions at the batch's offsets. They are not in `read`."""
    schemas: tuple[tuple[str, int], ...] | None = None
    """The ids of schemas that the records begin with, and how many do; None if not known."""
    fresh: int | None = None
    """Accepted records with a key that was not in the state of a Deduplicate; None if not known."""
    topics: Mapping[int, Mapping[str, int]] = MappingProxyType({})
    """The same by a topic's number (topic_account.py); empty with one topic or if some are gone."""
    rules: Mapping[str, int] = MappingProxyType({})
    """The records that fail each rule, if Kafka was read again."""

    def removed(self, seen: int, covered: int) -> int:
        """How many of the `seen` records Kafka has removed since, of `covered` offsets."""
        most = covered - self.read if self.compacted else self.gone
        return min(max(seen - self.read, 0), most)

    @property
    def filtered(self) -> int:
        """Removed by a Transform: the records with no other outcome, if the batch was
        read again.
        """
        rejected = self.malformed + self.premature + self.late
        return self.of_values.records(self.read) - rejected - self.accepted

    @property
    def of_values(self) -> OfValues:
        """What the values came to."""
        return OfValues(self.elements, self.with_elements, self.empty, self.refused)


class OfValues(NamedTuple):
    """What values with many records came to, as Account has it; null of a topic of others."""

    elements: int | None = None
    with_elements: int = 0
    empty: int = 0
    refused: int = 0

    @classmethod
    def of(cls, spec: Pipeline, progress: Progress) -> OfValues:
        """As Spark observed it."""
        if not spec.inputs.spread:
            return cls()
        return cls(*(progress.counted(CLASSIFIED_SEEN, name) for name in cls._fields))

    def records(self, read: int) -> int:
        """All that has an outcome, of so many values."""
        if self.elements is None:
            return read
        return self.elements + self.empty + self.refused

    def values(self, read: int) -> int:
        """Those that gave them."""
        if self.elements is None:
            return read
        return self.with_elements + self.empty + self.refused

    @property
    def told(self) -> dict[str, int]:
        """For an Account."""
        return {name: count or 0 for name, count in self._asdict().items()}


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
