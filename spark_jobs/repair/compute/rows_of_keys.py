"""Rows of keys: the rows of keys in a table that follows one, as one computation over all good
records gives them. It has no code of the sink: Spark's windows make what the sink makes by Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F

from spark_jobs.errors import RangeInvalid
from spark_jobs.launch.few_records import computed_once
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.compute.records import Fetched
from spark_jobs.repair.compute.rows import Computed, Judging, late_places
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.source.union import id_of
from spark_jobs.spans.any_of import any_of
from spark_jobs.spec.sql.texts import SqlText
from spark_jobs.steps.latest import marked
from spark_jobs.steps.sql.tree import reason
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import (
    DELETED,
    DELETED_AT,
    OF_A_KEY,
    OFFSET,
    PARTITION,
    SET,
)

if TYPE_CHECKING:
    from spark_jobs.analysis.ranged import Ranged
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.root.paths import Paths
    from spark_jobs.spans.span import Span
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.following import Following

MOST: Final = 200_000
"""Rows that the driver swaps at a time: it has them in memory."""


def compute_keys(way: Ranged, judging: Judging) -> Computed:
    """As `compute`: the rows are of the given keys, or of keys that replayed records touch. Of
    these the table's own rows are changes too: they have all else that decides.
    """
    spark, spec, _, paths, plan, *_ = judging
    step = _step(way.spec)
    fetched = Fetched.unread()
    read, entered, kept = Observation(), Observation(), Observation()
    good = judging.flow(fetched, read).stateful_input
    rows = F.count(F.lit(1)).alias("rows")
    good = good.observe(entered, rows, rows.alias("used"), late_places())
    good = good.observe(kept, rows, late_places())
    # Of a given key nobody knows when a batch with its delete was planned: it was after that.
    since = F.coalesce("kafka.timestamp", F.current_timestamp()) if plan.keys else None
    changes = marked(good, step, spec, spec.first_stateful, since)
    # What was observed is complete then, and Kafka is read once.
    changes = computed_once(changes, plan.records_read)
    keys = None if plan.keys else changes.select(*map(_quoted, step.keys)).distinct()
    known = live(spark, step, paths, plan, keys)
    if plan.keys:
        changes, known = changes.where(plan.keys), known.where(_lost(plan))
    computed = resolve_name(step.canonical_of_keys)(changes, known, step)
    return Computed(
        computed, keys, fetched, read, entered, kept, None, judging.bad, judging.clock_ms
    )


def live(
    spark: SparkSession, step: Following, paths: Paths, plan: RepairPlan, keys: DataFrame | None
) -> DataFrame:
    """The table's rows of these keys, or of the given ones, at the plan's version."""
    rows = table_of(paths).read(spark, plan.table_version)
    if keys is None:
        _refuse_unsafe(spark, rows, step, plan)
        return rows.where(plan.keys)
    found = rows.join(keys, list(step.keys), "left_semi")
    return found.select(*map(_quoted, rows.columns))


def to_compare(paired: DataFrame, before: datetime) -> DataFrame:
    """Without the deletes from before this time: the table may have forgotten them."""
    after = F.col("after")
    forgotten = F.col("before").isNull() & after[DELETED] & (after[DELETED_AT] < F.lit(before))
    return paired.where(~F.coalesce(forgotten, F.lit(False)))


def differing(plan: RepairPlan, rows: int) -> tuple[Span, ...]:
    """All of the table, or none of it. Raises RangeInvalid for more rows than the driver swaps."""
    if KINDS[plan.kind].swaps and rows > MOST:
        raise RangeInvalid.too_many_rows(pipeline=plan.pipeline, rows=rows, most=MOST)
    return plan.spans if rows else ()


def shown(rows: DataFrame) -> DataFrame:
    """As consumers see them."""
    return rows.where(~F.col(DELETED)).drop(*OF_A_KEY)


def merged(plan: RepairPlan, computed: Computed, paired: DataFrame) -> tuple[MergedRecord, ...]:
    """What became of each replayed record: it decides a row, is older than what does, or was
    filtered.
    """
    if not plan.replays:
        return ()
    after = paired.where("op IS NOT NULL AND after IS NOT NULL").select("after.*")
    places = F.array(F.struct(PARTITION, OFFSET))
    if SET in after.columns:
        by_field = F.transform(F.map_values(SET), lambda at: F.struct(at[PARTITION], at[OFFSET]))
        places = F.concat(places, by_field)
    deciding = {(place[0], place[1]) for (place,) in after.select(F.explode(places)).collect()}
    entered = {(at["partition"], at["offset"]) for at in computed.entered.get["late"]}

    def each_told() -> Iterator[MergedRecord]:
        for each in plan.replays:
            place = (each.partition, each.offset)
            older = "superseded" if place in entered else "filtered"
            yield MergedRecord(
                topic_id=id_of(plan.topic_id, each.partition),
                partition=each.partition,
                offset=each.offset,
                source="quarantine",
                fate="merged" if place in deciding else older,
                event_time=each.event_time,
            )

    return tuple(each_told())


def _lost(plan: RepairPlan) -> str:
    lost = any_of(
        f"({PARTITION} = {partition} AND {OFFSET} >= {first} AND {OFFSET} < {stop})"
        for partition, ranges in plan.lost.items()
        for first, stop in ranges
    )
    return lost or "false"


def _refuse_unsafe(spark: SparkSession, rows: DataFrame, step: Following, plan: RepairPlan) -> None:
    """Raise RangeInvalid for a condition that reaches more than the key."""
    why = reason(spark, SqlText("keys", plan.keys, query=False), step.keys)
    if why:
        raise RangeInvalid.keys_refused(pipeline=plan.pipeline, why=why)
    rows.select(*map(_quoted, step.keys)).where(plan.keys)


def _step(spec: Pipeline) -> Following:
    assert spec.keyed is not None
    return spec.keyed


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
