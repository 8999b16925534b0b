"""Counted: what the sources of a repair gave, held against what its plan had counted of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import Observation

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
    aside: int
    """Records that Spark read, and that are not used: ops.late or ops.quarantine keeps them."""

    @property
    def unaccounted(self) -> int:
        """All that differs. A record that is missing here is never made up for by one that is too
        many there.
        """
        sources = (self.topic, self.late, self.quarantine)
        return sum(each.fewer + each.more for each in sources)


def held(plan: RepairPlan, computed: Computed) -> Held:
    """Once all is read."""
    fetched, at_offsets = computed.fetched, plan.parts or plan.archived

    def seen(of: Observation, observed: object) -> int:
        return int(of.get["records"]) if observed else 0

    topic, late = seen(fetched.kafka, at_offsets), seen(fetched.late, plan.late)
    used = seen(fetched.used, at_offsets) + seen(fetched.late_used, plan.late)
    return Held(
        Source(plan.records, topic),
        Source(plan.late, late),
        Source(plan.from_quarantine, seen(fetched.quarantine, plan.quarantined)),
        topic + late - used,
    )


def thinned(plan: RepairPlan, topic: Source) -> int:
    """Records that drains read at the plan's offsets, and that a topic which Kafka compacts no
    longer gives: it has removed them since. Retention has not, as the plan has looked.
    """
    return topic.fewer if plan.compacted else 0
