"""Stage: computes the rows of a plan, compares them with the table's, judges both, and writes them
beside the table. Checkpoint and table are only read.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs import failpoint
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checks import expectations
from spark_jobs.contract.change import Change, change_checks, metrics
from spark_jobs.contract.errors import RepairUnknown, SluiceError, StagingStale
from spark_jobs.contract.fingerprint import in_force
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.ranged import Ranged, ranged
from spark_jobs.contract.report import Account, Report
from spark_jobs.contract.steps import Aggregate, Transform
from spark_jobs.contract.store import spark_url
from spark_jobs.contract.verdict import staged_verdict
from spark_jobs.contract.windows import Tumbling
from spark_jobs.launch.cluster import Cluster
from spark_jobs.ops import repairs
from spark_jobs.repair import late
from spark_jobs.repair.change import change, explained, rows_after
from spark_jobs.repair.compute import Computed, compute
from spark_jobs.repair.fates import fates, places
from spark_jobs.repair.plan import PLAN, RepairPlan, digest
from spark_jobs.repair.record import put_staged
from spark_jobs.repair.staged import differing, write_changes, write_rows
from spark_jobs.runs.run_outcome import Drained, RunOutcome
from spark_jobs.runs.run_record import append_row
from spark_jobs.runs.spark_errors import translate_error
from spark_jobs.steps.sql_tree import refuse_unsafe_trees
from spark_jobs.stopping import StopRequest, stop_on_signals

if TYPE_CHECKING:
    from threading import Thread

    from spark_jobs.contract.settings import Settings
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.repair.manifest import MergedRecord

LOG = logging.getLogger(__name__)


def stage(
    spec: Pipeline,
    settings: Settings,
    run_id: str,
    repair_id: str,
    stop: StopRequest | None = None,
) -> Report:
    """Compute the rows of a planned repair beside the table; return the report, also if it fails.

    SIGTERM and Ctrl-C request a stop (stopping.py); what was staged then is garbage.
    """
    outcome = RunOutcome("repair", spec.name, run_id, repair_id=repair_id)
    with nullcontext(stop) if stop else stop_on_signals() as request:
        try:
            problem = _run(spec, settings, outcome, request)
        except Exception as error:  # noqa: BLE001 - whatever Spark, Delta or the disk threw, the report must say so
            problem = translate_error(error, spec.name)
        return append_row(outcome.report(problem), settings.root)


def read_plan(paths: Paths, repair_id: str) -> RepairPlan:
    """The plan of a repair. Raises RepairUnknown if there is none, or it does not parse."""
    path = paths.staging(repair_id) / PLAN
    try:
        return RepairPlan.read(path)
    except (FileNotFoundError, ValueError):
        raise RepairUnknown(
            f"there is no plan at {path}.", f"Plan it again: `sluice repair {paths.table.name}`."
        ) from None


class _Scene(NamedTuple):
    """The fixed facts of one staging."""

    way: Ranged
    settings: Settings
    paths: Paths
    plan: RepairPlan
    spark: SparkSession


def _run(
    spec: Pipeline, settings: Settings, outcome: RunOutcome, stop: StopRequest
) -> SluiceError | None:
    paths = Paths(settings.root, spec)
    plan = read_plan(paths, outcome.repair_id)
    outcome.kind = plan.kind
    known = read_identity(paths)
    if known is None or known.generation != plan.generation:
        raise StagingStale(
            f"{spec.name}: a reset or a rewind has begun another generation since the plan.",
            "Plan it again.",
        )
    if plan.spec_digest != digest(spec):
        raise StagingStale(
            f"{spec.name}: its spec or its code changed since the plan.", "Plan it again."
        )
    _refuse_swapped(paths, plan)
    spec = in_force(spec, known.fingerprint)
    with lease(paths.staging_lease, outcome.run_id), Cluster(spec.name, settings) as cluster:
        outcome.lap("settle")
        stop.raise_if_asked()
        warming = expectations.warm_up()
        spark = cluster.session(spec.state)
        refuse_unsafe_trees(spark, spec)
        outcome.lap("start")
        stop.raise_if_asked()
        try:
            scene = _Scene(ranged(spec), settings, paths, plan, spark)
            return _compute_and_judge(scene, outcome, stop, warming)
        finally:
            spark.catalog.clearCache()


def _refuse_swapped(paths: Paths, plan: RepairPlan) -> None:
    """Raise StagingStale for a repair that is in the table. What an earlier try staged is gone."""
    row = repairs.one(paths.root, plan.pipeline, plan.repair_id)
    if row is not None and row["state"] not in {"planned", "staged", "failed"}:
        raise StagingStale(
            f"repair {plan.repair_id} of {plan.pipeline} is {row['state']} already.",
            "Plan another one.",
        )
    (paths.staging(plan.repair_id) / "manifest.json").unlink(missing_ok=True)


def _compute_and_judge(
    scene: _Scene, outcome: RunOutcome, stop: StopRequest, warming: Thread
) -> SluiceError | None:
    way, plan, folder = scene.way, scene.plan, scene.paths.staging(scene.plan.repair_id)
    LOG.info("%s: computes %s again", plan.pipeline, "; ".join(map(str, plan.spans[:5])))
    failpoint.at("staging")
    computed = compute(scene.spark, way, scene.settings, scene.paths, plan)
    outcome.lap("query")
    stop.raise_if_asked()
    paired = change(way.spec, _live(scene), computed.rows)
    paired = explained(paired, computed.explaining).persist()
    merged = _fates(scene, computed)
    outcome.change = _change(way, plan, paired, computed, merged)
    outcome.drained = _drained(plan, computed, outcome.change)
    LOG.info("%s: %s", plan.pipeline, outcome.change)
    write_changes(paired, folder)
    parts = differing(paired, way.position, plan.spans)
    write_rows(paired, way.position, parts, folder)
    failpoint.at("staged")
    outcome.lap("compare")
    stop.raise_if_asked()
    warming.join()
    outcome.checks = (
        *expectations.check_rows(way.spec, rows_after(paired, way.position.sql(plan.spans))),
        *expectations.check_change(change_checks(plan.kind, plan.approve), metrics(outcome.change)),
    )
    outcome.lap("checks")
    problem = staged_verdict(plan.pipeline, outcome.checks)
    put_staged(scene.paths, way, plan, outcome, parts, merged, good=problem is None)
    failpoint.at("judged")
    return problem


def _live(scene: _Scene) -> DataFrame:
    """The table's rows of the ranges, at the plan's version."""
    table = scene.spark.read.format("delta").option("versionAsOf", scene.plan.table_version)
    within = scene.way.position.sql(scene.plan.spans)
    return table.load(spark_url(scene.paths.table)).where(within)


def _fates(scene: _Scene, computed: Computed) -> tuple[MergedRecord, ...]:
    found = late.waiting(scene.paths, scene.plan.generations, scene.plan.batch)
    entered, kept = (places(seen.get["late"]) for seen in (computed.entered, computed.kept))
    return fates(scene.way, scene.plan, found, entered, kept)


def _change(
    way: Ranged,
    plan: RepairPlan,
    paired: DataFrame,
    computed: Computed,
    merged: tuple[MergedRecord, ...],
) -> Change:
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
        newly_bad=computed.read.get["malformed"] + computed.read.get["premature"],
        count_difference=_count_difference(way.spec, paired, became.count("merged")),
        unaccounted=_unaccounted(plan, computed),
    )


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
    """What Kafka gave, held against the index, which drains wrote, and the late records that Spark
    read against those that the plan counted.
    """
    from_kafka: int = computed.fetched.kafka.get["records"] if plan.parts else 0
    from_late: int = computed.fetched.late.get["records"] if plan.late else 0
    indexed = from_kafka if plan.records is None else plan.records
    return abs(from_kafka - indexed) + abs(from_late - plan.late)


def _drained(plan: RepairPlan, computed: Computed, found: Change) -> Drained:
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
