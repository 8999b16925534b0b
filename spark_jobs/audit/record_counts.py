"""Record counts: a batch's records by outcome, and what values with many records came to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from spark_jobs.audit.progress import Progress
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
