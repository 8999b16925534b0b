"""Held: what the sources of a repair gave, held against what its plan had counted of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spark_jobs.repair.compute.rows import Computed
    from spark_jobs.repair.find.plan import RepairPlan


class Source(NamedTuple):
    """Of one source."""

    planned: int
    """Records that the plan counted: by the index, which drains wrote, or where they are."""
    given: int
    """Records that Spark read."""

    @property
    def fewer(self) -> int:
        """Records that are missing since the plan, or since the drain."""
        return max(0, self.planned - self.given)

    @property
    def more(self) -> int:
        """Records that nobody had counted."""
        return max(0, self.given - self.planned)


class Held(NamedTuple):
    """Of every source."""

    topic: Source
    """Kafka and the archive."""
    late: Source
    quarantine: Source

    @property
    def unaccounted(self) -> int:
        """All that differs. A record that is missing here is never made up for by one that is too
        many there.
        """
        return sum(each.fewer + each.more for each in self)


def held(plan: RepairPlan, computed: Computed) -> Held:
    """Once all is read."""
    fetched = computed.fetched
    at_offsets = plan.parts or plan.archived
    return Held(
        Source(plan.records, fetched.kafka.get["records"] if at_offsets else 0),
        Source(plan.late, fetched.late.get["records"] if plan.late else 0),
        Source(plan.from_quarantine, fetched.quarantine.get["records"] if plan.quarantined else 0),
    )


def thinned(plan: RepairPlan, topic: Source) -> int:
    """Records that drains read at the plan's offsets, and that a topic which Kafka compacts no
    longer gives: it has removed them since. Retention has not, as the plan has looked.
    """
    return topic.fewer if plan.compacted else 0
