"""Failing: names the records of a repair on which an expression of the spec fails.

Drains put such records into quarantine, and a repair leaves those out. It can meet others: a late
record, for which a drain computes nothing behind its first step, and any record after the
expression has changed, or that no drain has read.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.classify.classifier import good_records
from spark_jobs.dataflow import dataflow
from spark_jobs.repair.compute.records import Fetched, records
from spark_jobs.repair.compute.rows import known_failing
from spark_jobs.runs.failures.record_search import failing
from spark_jobs.runs.failures.try_search import all_failing
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spans.position import Position
from spark_jobs.steps import chain

if TYPE_CHECKING:
    from spark_jobs.analysis.ranged import Ranged
    from spark_jobs.errors import ExpressionFailed
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.root.paths import Paths
    from spark_jobs.runs.failures.data_error import DataError
    from spark_jobs.settings.installation import Settings

NAMED = 3
"""Failing records that are looked for: each takes some twenty queries of a million records."""
LISTED = 100
"""Failing records that the line lists, so that a person can put them aside."""
NEVER_LATE_MS = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1000
THEN = "Nothing was changed: then plan the repair again."


def expression_failed(
    spark: SparkSession,
    way: Ranged,
    settings: Settings,
    paths: Paths,
    plan: RepairPlan,
    error: DataError,
) -> ExpressionFailed:
    """The error of a staging that ended with it: with the places of the first NAMED records that
    fail by themselves.
    """
    spec, needed = way.spec, F.expr(Position(way.spec.topic.event_time).sql(plan.needed))

    unseen = Fetched.unread()
    given = records(spark, spec, settings, paths, plan, unseen)
    clock_ms = int(datetime.now(UTC).timestamp() * 1000)
    failing_before = known_failing(paths, plan)
    flow = dataflow(given, spec, settings, plan.inputs, clock_ms=clock_ms, failing=failing_before)

    def computed(rows: DataFrame) -> DataFrame:
        entering = chain.stateful_input(rows, spec, flow.sides).where(needed)
        return chain.row_part(entering, spec, flow.sides, NEVER_LATE_MS)

    good = good_records(flow.by_decoder, spec.topic).persist()
    try:
        found = [*islice(failing(_spanned(plan, good), good, computed), NAMED + 1)]
        if len(found) > NAMED:
            found = all_failing(good, computed, LISTED, spec.topic) or found
    finally:
        good.unpersist()
    of = [(spec.topic.shown(each.partition), each.offset) for each in found[:LISTED]]
    places = [f"partition {partition} offset {offset}" for partition, offset in of[:NAMED]]
    named = [f"{partition}:{offset}" for partition, offset in of] or ["PARTITION:OFFSET"]
    if not places:
        why = (
            f"No record of repair {plan.repair_id} fails by itself: several do together, or behind "
            "a step that keeps state."
        )
    else:
        error = found[0].error
        more = ", and others" if len(found) > NAMED else ""
        why = f"It fails on records of topic {spec.topic.name}: {', '.join(places)}{more}."
    aside = " ".join(f"--record {place}" for place in named)
    first = f"Put them into quarantine: sluice quarantine {spec.name} {aside} --reason WHY. Or: "
    return error.failed(spec.name, error.where(spec), why, THEN, first)


def _spanned(plan: RepairPlan, good: DataFrame) -> Batch:
    offset = F.col("kafka.offset")
    ends = good.groupBy(F.col("kafka.partition").alias("partition")).agg(
        F.min(offset).alias("first"), F.max(offset).alias("last")
    )
    rows = ends.collect()
    start = {row["partition"]: row["first"] for row in rows}
    return Batch(plan.batch, start, {row["partition"]: row["last"] + 1 for row in rows}, 0, 0)
