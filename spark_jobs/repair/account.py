"""Account of a repair: what it read and what became of it, and the change in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame, functions as F

from spark_jobs.contract.change import Change
from spark_jobs.contract.ranged import Ranged
from spark_jobs.contract.report import Account
from spark_jobs.contract.steps import Aggregate, Transform
from spark_jobs.contract.windows import Tumbling
from spark_jobs.runs.run_outcome import Drained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.contract.span import Span
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.repair.compute import Computed
    from spark_jobs.repair.manifest import MergedRecord
    from spark_jobs.repair.plan import RepairPlan


class Compared(NamedTuple):
    """The table's rows against those that were computed."""

    paired: DataFrame
    """See change.explained."""
    carried: DataFrame | None
    """Rows of the table that lie among them, and stay; see sessions.Replaced."""


def change_of(
    way: Ranged,
    plan: RepairPlan,
    compared: Compared,
    computed: Computed,
    merged: tuple[MergedRecord, ...],
) -> Change:
    paired = compared.paired
    told = paired.agg(
        F.count("before").alias("rows_before"),
        F.count("after").alias("rows_after"),
        *(F.count_if(F.col("op") == op).alias(op) for op in ("added", "removed", "changed")),
        F.count_if(F.col("op").isNotNull() & ~F.col("explained")).alias("unexplained"),
    ).collect()[0]
    became = [record.fate for record in merged]
    return Change(
        **told.asDict(),
        merged=became.count("merged"),
        duplicates=became.count("duplicate"),
        filtered=became.count("filtered"),
        replayed=sum(record.source == "quarantine" for record in merged),
        newly_bad=computed.read.get["malformed"] + computed.read.get["premature"],
        count_difference=_count_difference(way.spec, paired, became.count("merged")),
        unaccounted=_unaccounted(plan, computed),
        parts=parts(way, plan.spans, compared.carried),
    )


def parts(way: Ranged, spans: Sequence[Span], carried: DataFrame | None) -> int:
    """How many of the carried rows end in the spans: no session that was computed ends there."""
    return 0 if carried is None else carried.where(way.position.sql(spans)).count()


def _count_difference(spec: Pipeline, paired: DataFrame, merged: int) -> int:
    """How far the records that the groups have gained are from the late records that were merged:
    0 where no measure counts each record once.
    """
    found = [step for step in spec.steps if isinstance(step, Aggregate)]
    if len(found) != 1 or not found[0].counts or not isinstance(found[0].window, Tumbling):
        return 0
    if any(isinstance(step, Transform) for step in spec.steps[spec.first_stateful :]):
        return 0  # it may leave out a record that is counted as merged
    total = [F.sum(F.col(side)[found[0].counts]) for side in ("after", "before")]
    after, before = paired.agg(*total).collect()[0]
    return abs(int(after or 0) - int(before or 0) - merged)


def _unaccounted(plan: RepairPlan, computed: Computed) -> int:
    """What Kafka and the archive gave, held against the index, which drains wrote, and the late and
    quarantined records that Spark read against those that the plan counted.
    """
    read_at_offsets = plan.parts or plan.archived
    from_kafka: int = computed.fetched.kafka.get["records"] if read_at_offsets else 0
    from_late: int = computed.fetched.late.get["records"] if plan.late else 0
    kept: int = computed.fetched.quarantine.get["records"] if plan.quarantined else 0
    indexed = from_kafka if plan.records is None else plan.records
    named = plan.from_quarantine
    return abs(from_kafka - indexed) + abs(from_late - plan.late) + abs(kept - named)


def drained_of(plan: RepairPlan, computed: Computed, found: Change) -> Drained:
    read, entered, kept = (seen.get for seen in (computed.read, computed.entered, computed.kept))
    account = Account(
        covered=plan.offsets,
        read=read["read"],
        malformed=read["malformed"],
        premature=read["premature"],
        filtered=read["good"] - entered["rows"],
        late=plan.late,
        accepted=entered["used"],
        duplicates=entered["used"] - kept["rows"],
        rows_out=found.rows_after,
        unaccounted=found.unaccounted,
    )
    return Drained(generation=plan.generation, account=account, end=plan.horizon)
