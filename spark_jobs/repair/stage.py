"""Stage: computes the rows of a plan, compares them with the table's, judges both, and writes them
beside the table. Checkpoint and table are only read.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs import failpoint
from spark_jobs.analysis.ranged import Ranged, computable
from spark_jobs.analysis.unheld import unheld
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checks import expectations
from spark_jobs.decode.jvm.choice import why_python
from spark_jobs.decode.jvm.decoder import UNSURE
from spark_jobs.errors import RecordsUnreachable, SluiceError, StagingStale
from spark_jobs.fingerprint.fields import in_force
from spark_jobs.journal.runner import settle
from spark_jobs.launch.cluster import Cluster
from spark_jobs.launch.few_records import computed_once, for_records, release
from spark_jobs.messages.change import change_checks, metrics
from spark_jobs.messages.kind import KINDS, AskedKind
from spark_jobs.messages.report import Report
from spark_jobs.messages.stages import account_line
from spark_jobs.messages.verdict import staged_verdict
from spark_jobs.messages.withheld import SETTING
from spark_jobs.repair.compute import kept, rows_of_keys, sessions
from spark_jobs.repair.compute.account import Compared, change_of, counted, drained_of
from spark_jobs.repair.compute.bad import Bad, write_bad
from spark_jobs.repair.compute.change import change, explained, rows_after
from spark_jobs.repair.compute.failing import expression_failed
from spark_jobs.repair.compute.fates import fates, places
from spark_jobs.repair.compute.result import Staged, put_staged
from spark_jobs.repair.compute.rows import Computed, Judging, compute
from spark_jobs.repair.compute.staged import differing, write_changes, write_rows
from spark_jobs.repair.exchange.again import refuse_done, withdraw
from spark_jobs.repair.exchange.sample import sample, sample_lines
from spark_jobs.repair.find.late_spans import LateSpans
from spark_jobs.repair.find.plan import RepairPlan, digest, read_plan
from spark_jobs.repair.find.reachable import refuse_unreachable
from spark_jobs.root.path_forms import spark_url
from spark_jobs.root.paths import Paths
from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.runs.failures.spark_errors import translate_error
from spark_jobs.runs.run_outcome import RunOutcome
from spark_jobs.runs.run_record import append_row
from spark_jobs.settings.installation import record_bytes
from spark_jobs.spans.span import Span
from spark_jobs.steps.sql.tree import refuse_unsafe_trees
from spark_jobs.stopping import StopRequest, stop_on_signals
from spark_jobs.storage.lease_view import Held
from spark_jobs.table.delta.few_rows import few_rows

if TYPE_CHECKING:
    from threading import Thread

    from upath import UPath

    from spark_jobs.repair.manifest import MergedRecord
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.following import Following

LOG = logging.getLogger(__name__)


def stage(
    spec: Pipeline,
    settings: Settings,
    run_id: str,
    repair_id: str,
    stop: StopRequest | None = None,
    kind: AskedKind = "repair",
) -> Report:
    """Compute the rows of a planned repair beside the table; return the report, also if it fails.
    `kind` is the plan's: the report has it although the plan cannot be read.

    SIGTERM and Ctrl-C request a stop (stopping.py); what was staged then is garbage.
    """
    outcome = RunOutcome(kind, spec.name, run_id, repair_id=repair_id)
    with nullcontext(stop) if stop else stop_on_signals() as request:
        try:
            problem = _run(spec, settings, outcome, request)
        except Exception as error:  # noqa: BLE001 - whatever Spark, Delta or the disk threw, the report must say so
            problem = translate_error(error, spec.name)
        return append_row(outcome.report(problem), settings.root, beside=settings.next == "on")


class _Scene(NamedTuple):
    """The fixed facts of one staging."""

    way: Ranged
    settings: Settings
    paths: Paths
    plan: RepairPlan
    spark: SparkSession
    held: Held
    """The stagings' lease: who slept for longer than it lasts stages nothing any more."""
    in_jvm: bool
    """Whether the JVM may decode. Where nothing is swapped, Python does: it is the witness of what
    drains have decoded.
    """


def _run(
    spec: Pipeline, settings: Settings, outcome: RunOutcome, stop: StopRequest
) -> SluiceError | None:
    paths = Paths(settings.root, spec)
    plan = read_plan(paths, outcome.repair_id)
    outcome.kind = plan.kind
    settle(paths, outcome.run_id)
    refuse_done(paths, plan.repair_id)
    known = read_identity(paths)
    if known is None or known.generation != plan.generation:
        raise StagingStale.generation_changed(pipeline=spec.name)
    if plan.spec_digest != digest(spec):
        raise StagingStale.spec_changed_since_plan(pipeline=spec.name)
    refuse_unreachable(spec, settings, plan)
    spec = in_force(spec, known.fingerprint)
    with (
        lease(paths.staging_lease, outcome.run_id) as held,
        Cluster(spec.name, settings) as cluster,
    ):
        outcome.lap("settle")
        stop.raise_if_asked()
        withdraw(paths, plan.repair_id, outcome.run_id)
        warming = expectations.warm_up()
        spark = cluster.session(spec.state)
        refuse_unsafe_trees(spark, spec)
        outcome.lap("start")
        stop.raise_if_asked()
        try:
            [topic, *more] = spec.topic.each
            in_jvm = KINDS[plan.kind].swaps and not more and not why_python(topic, unheld(spec))
            scene = _Scene(computable(spec), settings, paths, plan, spark, held, in_jvm)
            with for_records(spark, plan.records_read):
                return _named_if_data_fails(scene, outcome, stop, warming)
        finally:
            _remove_kept(paths, plan)
            with suppress(Exception):  # what ended the run is told, not that its JVM is gone
                release(spark)


def _remove_kept(paths: Paths, plan: RepairPlan) -> None:
    """If the store fails here, `sluice maintain` removes it later."""
    try:
        kept.remove(paths, plan)
    except OSError as error:
        LOG.warning("%s: %s stays for now: %s", plan.pipeline, kept.folder(paths, plan), error)


def _named_if_data_fails(
    scene: _Scene, outcome: RunOutcome, stop: StopRequest, warming: Thread
) -> SluiceError | None:
    """An expression that fails is told with the records on which it does."""
    try:
        return _compute_and_judge(scene, outcome, stop, warming)
    except (PySparkException, Py4JJavaError, StagingStale) as error:
        if scene.in_jvm and (why := _why_python(error)):
            LOG.warning("%s: computes once more, and Python decodes: %s", scene.plan.pipeline, why)
            stop.raise_if_asked()
            release(scene.spark)
            return _named_if_data_fails(scene._replace(in_jvm=False), outcome, stop, warming)
        if isinstance(error, StagingStale):
            raise
        if (data := DataError.of(str(error))) is None:
            _refuse_overtaken(scene)
            raise
        stop.raise_if_asked()
        way, settings, paths, plan, spark, *_ = scene
        release(spark)
        raise expression_failed(spark, way, settings, paths, plan, data) from error


def _why_python(error: Exception) -> str:
    if isinstance(error, StagingStale):  # Python may take a record that the JVM has refused
        return str(error)
    found = UNSURE.search(str(error))
    return found[0] if found else ""


def _refuse_overtaken(scene: _Scene) -> None:
    """Raise RecordsUnreachable if retention took records while they were read: Spark's own words
    for it would be tried again.
    """
    try:
        refuse_unreachable(scene.way.spec, scene.settings, scene.plan)
    except (StagingStale, RecordsUnreachable):
        raise
    except SluiceError as error:
        LOG.warning(
            "%s: whether Kafka has its records, nobody can tell: %s", scene.plan.pipeline, error
        )


def _compute_and_judge(
    scene: _Scene, outcome: RunOutcome, stop: StopRequest, warming: Thread
) -> SluiceError | None:
    way, plan, folder = scene.way, scene.plan, scene.paths.staging(scene.plan.repair_id)
    LOG.info("%s: computes %s again", plan.pipeline, "; ".join(map(str, plan.spans[:5])))
    failpoint.at("staging")
    step, compute_all = way.spec.keyed, rows_of_keys.compute_keys if way.spec.keyed else compute
    judging = Judging.now(
        scene.spark, way.spec, scene.settings, scene.paths, plan, in_jvm=scene.in_jvm
    )
    computed = compute_all(way, judging)
    outcome.lap("query")
    stop.raise_if_asked()
    compared = _compared(scene, computed)
    paired = computed_once(compared.paired, plan.records_read)
    merged = rows_of_keys.merged(plan, computed, paired) if step else _fates(scene, computed)
    told = counted(way, paired)
    outcome.change = change_of(way, plan, told, compared.carried, computed, merged)
    outcome.drained = drained_of(plan, computed, outcome.change)
    LOG.info("%s: %s", plan.pipeline, account_line(outcome.drained.account))
    LOG.info("%s: %s", plan.pipeline, outcome.change)
    scene.held.confirm()
    write_changes(paired, folder)
    if step:
        parts = rows_of_keys.differing(plan, outcome.change.differs)
    else:
        parts = differing(told.hours, way.replaced(plan.spans))
        write_rows(paired, way.position, parts, folder, compared.carried)
    if outcome.change.newly_bad and KINDS[plan.kind].swaps:
        found = Bad(computed.bad(), outcome.change.newly_bad, computed.clock_ms)
        write_bad(found, way.spec.topic, plan, outcome.run_id, folder)
    failpoint.at("staged")
    outcome.lap("compare")
    stop.raise_if_asked()
    warming.join()
    after = rows_after(paired, "true" if step else way.position.sql(plan.spans))
    after = rows_of_keys.shown(after) if step else after
    asked = change_checks(plan.kind, plan.approve, thinned=bool(outcome.change.thinned))
    outcome.checks = (
        *expectations.check_rows(way.spec, after),
        *expectations.check_change(asked, metrics(outcome.change)),
    )
    outcome.lap("checks")
    whole = Span(plan.spans[0].start, plan.spans[-1].end)
    proved = None if KINDS[plan.kind].swaps or step else whole
    problem = staged_verdict(plan.pipeline, outcome.checks, proved)
    staged = Staged(parts, merged, computed.copies)
    put_staged(scene.paths, way, plan, outcome, staged, problem, scene.held)
    failpoint.at("staged.judged")
    if problem and not outcome.change.thinned:
        _log_rows(folder)
    return problem


def _log_rows(folder: UPath) -> None:
    """Nobody is asked about a stage that failed, so its log shows the rows, if values may be."""
    if not record_bytes():
        LOG.warning("the rows that differ are in %s. %s", folder / "changes", SETTING)
        return
    try:
        for line in sample_lines(sample(folder)):
            LOG.warning("%s", line)
    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw, the verdict stands
        LOG.warning("the rows that differ are in %s: %s", folder / "changes", error)


def _compared(scene: _Scene, computed: Computed) -> Compared:
    way = scene.way
    if way.spec.keyed:
        return _compared_by_key(scene, computed, way.spec.keyed)
    live = _live(scene)
    if not way.sessions:
        paired = change(way.spec, live, computed.rows)
        return Compared(explained(paired, computed.explaining), None)
    assert computed.explaining is not None
    found = sessions.replaced(way, scene.plan.spans, live, computed.rows, computed.explaining)
    paired = change(way.spec, found.live, found.computed)
    return Compared(sessions.explained(paired, found.joined), found.carried)


def _compared_by_key(scene: _Scene, computed: Computed, step: Following) -> Compared:
    spec, plan = scene.way.spec, scene.plan
    live = rows_of_keys.live(scene.spark, step, scene.paths, plan, computed.explaining)
    paired = change(spec, live, computed.rows)
    if step.forgets_after and plan.keys:
        before = datetime.now(UTC) - step.forgets_after
        paired = rows_of_keys.to_compare(paired, before)
    return Compared(explained(paired, computed.explaining), None)


def _live(scene: _Scene) -> DataFrame:
    way, spans, version = scene.way, scene.plan.spans, scene.plan.table_version
    table, spark = scene.paths.table, scene.spark
    if way.sessions:
        within = sessions.beside(way, spans)
    elif (rows := few_rows(spark, table, version, way.position, spans)) is not None:
        return rows
    else:
        within = F.expr(way.position.sql(spans))
    stored = spark.read.format("delta").option("versionAsOf", version)
    return stored.load(spark_url(table)).where(within)


def _fates(scene: _Scene, computed: Computed) -> tuple[MergedRecord, ...]:
    plan = scene.plan
    late = LateSpans(scene.way, scene.paths, plan.generations, plan.batch)
    entered, kept = (places(seen.get["late"]) for seen in (computed.entered, computed.kept))
    return fates(scene.way, plan, late.computed(plan.spans), entered, kept)
