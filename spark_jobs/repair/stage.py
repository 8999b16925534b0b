"""Stage: computes the rows of a plan, compares them with the table's, judges both, and writes them
beside the table. Checkpoint and table are only read.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs import checks as expectations
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.errors import SluiceError, StagingStale
from spark_jobs.journal.runner import settle
from spark_jobs.launch.few_records import for_records, release
from spark_jobs.launch.session import sessions_of
from spark_jobs.registry.fingerprint.fields import in_force
from spark_jobs.repair.comparison import Comparison
from spark_jobs.repair.compute.failing import named
from spark_jobs.repair.compute.judging import Judging
from spark_jobs.repair.exchange.preconditions import refuse_done, withdraw
from spark_jobs.repair.find.lost import refuse_unreachable
from spark_jobs.repair.find.plan import digest, read_plan
from spark_jobs.runs.run_outcome import RunOutcome
from spark_jobs.runs.run_record import reported
from spark_jobs.runs.watch.limits import StopRequest
from spark_jobs.steps.sql import refuse_unsafe_trees
from spark_jobs.storage.pin import versions
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.messages.kind import AskedKind
    from spark_jobs.messages.report import Report
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

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

    SIGTERM and Ctrl-C request a stop (limits.py); what was staged then is garbage.
    """
    outcome = RunOutcome(kind, spec.name, run_id, bool(spec.inputs.personal), repair_id=repair_id)
    run = partial(_run, spec, settings, outcome)
    return reported(spec.name, settings, stop, run, outcome.report)


def _run(
    spec: Pipeline, settings: Settings, outcome: RunOutcome, stop: StopRequest
) -> SluiceError | None:
    paths = Paths(settings.root, spec)
    plan = read_plan(paths, outcome.repair_id)
    outcome.kind, outcome.inputs = plan.kind, versions(plan.inputs)
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
        sessions_of(spec.name, settings) as cluster,
    ):
        outcome.lap("settle")
        stop.raise_if_asked()
        withdraw(paths, plan.repair_id, outcome.run_id)
        warming = expectations.warm_up()
        spark = cluster.session(spec.state)
        refuse_unsafe_trees(spark, spec)
        outcome.lap("start")
        stop.raise_if_asked()
        judging = Judging.now(spark, spec, settings, paths, plan)
        comparison = Comparison(outcome, held, stop, warming)
        try:
            with for_records(spark, plan.records_read):
                return named(judging, comparison.made, stop)
        finally:
            judging.remove_kept()
            with suppress(Exception):  # what ended the run is told, not that its JVM is gone
                release(spark)
