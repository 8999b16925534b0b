"""Account of a repair: what it read and what became of it, and the change in numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, functions as F

from spark_jobs.messages.change import Change
from spark_jobs.messages.offset_account import Account
from spark_jobs.repair.compute.change import rounded
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.spec import Tumbling
from spark_jobs.spec.analysis.looked_up import kept
from spark_jobs.spec.analysis.ranged import Ranged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.repair.compute.judging import Computed
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.manifest import MergedRecord
    from spark_jobs.spec import Pipeline
    from spark_jobs.values.spans import Span


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
    records = seen(fetched.records, at_offsets)
    used = seen(fetched.used, at_offsets) + seen(fetched.late_used, plan.late)
    return Held(
        Source(plan.records, topic),
        Source(plan.late, late),
        Source(plan.from_quarantine, seen(fetched.quarantine, plan.quarantined)),
        records + late - used,
    )


def thinned(plan: RepairPlan, topic: Source) -> int:
    """Records that drains read at the plan's offsets, and that a topic which Kafka compacts no
    longer gives: it has removed them since. Retention has not, as the plan has looked.
    """
    return topic.fewer if plan.compacted else 0


class Counted(NamedTuple):
    """What the paired rows come to."""

    rows: dict[str, int]
    """rows_before, rows_after, added, removed, changed, rounded and unexplained of a Change."""
    gained: int | None
    """The records that the groups have gained; None where no measure counts each record once."""
    hours: tuple[datetime, ...]
    """The beginnings of the hours in which rows differ, in no order."""


def counted(spec: Pipeline, paired: DataFrame, hour: Column) -> Counted:
    """All of it by one query: of few rows, each query costs more than they do. `hour` is a paired
    row's, or null.
    """
    counts, sides = _counting(spec), ("after", "before")
    sums = [F.sum(F.col(side)[counts]).alias(f"_{side}") for side in sides] if counts else []
    row = paired.agg(
        F.count("before").alias("rows_before"),
        F.count("after").alias("rows_after"),
        *(F.count_if(F.col("op") == op).alias(op) for op in ("added", "removed", "changed")),
        F.count_if(F.col("op").isNotNull() & ~F.col("explained")).alias("unexplained"),
        F.count_if(rounded(paired, kept(spec))).alias("rounded"),
        F.collect_set(F.when(F.col("op").isNotNull(), hour)).alias("_hours"),
        *sums,
    ).collect()[0]
    found = row.asDict()
    hours = tuple(each.replace(tzinfo=UTC) for each in found.pop("_hours"))
    after, before = (int(found.pop(f"_{side}", 0) or 0) for side in sides)
    return Counted(found, after - before if counts else None, hours)


def change_of(
    way: Ranged,
    plan: RepairPlan,
    told: Counted,
    carried: DataFrame | None,
    computed: Computed,
    merged: tuple[MergedRecord, ...],
    left: tuple[int, int],
) -> Change:
    """`left`: records that are bad by today's spec, and excised ones."""
    became, given = [record.fate for record in merged], held(plan, computed)
    # Of a table as a source, rows have taken the place of others.
    counts = told.gained is not None and not plan.current
    gained = (told.gained or 0) - became.count("merged") if counts else 0
    newly_bad, excised = left
    return Change(
        **told.rows,
        merged=became.count("merged"),
        duplicates=became.count("duplicate"),
        filtered=became.count("filtered"),
        superseded=became.count("superseded"),
        replayed=sum(record.source == "quarantine" for record in merged),
        newly_bad=newly_bad,
        excised=excised,
        count_difference=beyond(gained, computed.excised),
        thinned=thinned(plan, given.topic),
        unaccounted=given.unaccounted - thinned(plan, given.topic),
        parts=parts(way, plan.spans, carried),
    )


def beyond(gained: int, excised: int | None) -> int:
    """By how many records groups differ that none explains. Of an excised one nobody knows whether
    a group had it, or a copy comes in its place.
    """
    if gained > 0:
        return gained
    return 0 if excised is None else max(0, -gained - excised)


def parts(way: Ranged, spans: Sequence[Span], carried: DataFrame | None) -> int:
    """How many of the carried rows end in the spans: no session that was computed ends there."""
    return 0 if carried is None else carried.where(way.position.sql(spans)).count()


def _counting(spec: Pipeline) -> str | None:
    found = [step for step in spec.steps if step.aggregates]
    if len(found) != 1 or not isinstance(found[0].grouping_window, Tumbling):
        return None
    if not all(step.remembers for step in spec.steps[spec.first_stateful :]):
        return None  # it may leave out a record that is counted as merged
    return found[0].counted_by


def drained_of(plan: RepairPlan, computed: Computed, found: Change) -> Drained:
    read, entered, kept = (seen.get for seen in (computed.read, computed.entered, computed.kept))
    aside = held(plan, computed).aside
    account = Account(
        covered=plan.offsets,
        read=read["read"] + aside,
        malformed=read["malformed"],
        premature=read["premature"],
        filtered=read["good"] - entered["rows"],
        kept_aside=aside,
        outside=entered["rows"] - entered["used"],
        accepted=entered["used"],
        duplicates=entered["used"] - kept["rows"],
        rows_out=found.rows_after,
        unaccounted=found.unaccounted,
    )
    return Drained(generation=plan.generation, account=account, end=plan.horizon)
