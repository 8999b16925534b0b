"""Drain: resumes the live checkpoint, reads what Kafka holds now, accounts for it, checks it and
reports.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from spark_jobs.journal.runner import leased, settle as settle_begun
from spark_jobs.launch.session import sessions_of
from spark_jobs.messages.verdict import verdict
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.evaluation import evaluate_checks
from spark_jobs.runs.preflight import refuse_restored
from spark_jobs.runs.query import Query
from spark_jobs.runs.resume.opening import opened
from spark_jobs.runs.resume.same_state import forget_failing, refuse_half_made
from spark_jobs.runs.run_outcome import Drained, RunOutcome, drained
from spark_jobs.runs.run_record import begun, reported
from spark_jobs.runs.upkeep import (
    forget_deletes,
    purge_after_failure,
    purge_state,
    take_out_read_again,
)
from spark_jobs.runs.watch.limits import RunLimits
from spark_jobs.storage import failpoint
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.path_forms import state_url
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.checkpoint.run import Run
    from spark_jobs.errors import SluiceError
    from spark_jobs.messages.report import Report
    from spark_jobs.runs.preflight import Preflight
    from spark_jobs.runs.resume.opening import Opened
    from spark_jobs.runs.watch.limits import StopRequest
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.spec import Pipeline

CORRECTED = "spark_jobs.runs.resume.other_state:refuse_other_state"
"""What holds corrected expressions against the stored state."""
REJECTED = "spark_jobs.runs.told.first_rejected:worth_telling"
"""What says in words what was wrong with a batch's records."""
LOG = logging.getLogger(__name__)


def drain(
    spec: Pipeline, settings: Settings, run_id: str, stop: StopRequest | None = None
) -> Report:
    """Run one drain and return its report, also if it fails. Logs its progress.

    SIGTERM and Ctrl-C request a stop (limits.py). A caller that handles them already passes its
    `stop`.
    """
    outcome = RunOutcome("drain", spec.name, run_id, bool(spec.inputs.personal))
    run = partial(_run, spec, settings, outcome)
    return reported(spec.name, settings, stop, run, outcome.report)


def _run(
    spec: Pipeline, settings: Settings, outcome: RunOutcome, stop: StopRequest
) -> SluiceError | None:
    """Before the first account a stop raises Stopped. After it, the run ends between two batches
    and still evaluates its checks.
    """
    paths = Paths(settings.root, spec)
    state_url(paths.checkpoint)  # raises now what would stop the reading of state behind a commit
    require_writable(paths)
    settle_begun(paths, outcome.run_id)
    with (
        leased(paths, outcome.run_id) as held,
        begun(paths, outcome) as note,
        sessions_of(paths.pipeline, settings) as cluster,
    ):
        failpoint.at("leased")
        opening = opened(spec, settings, cluster, held, note, outcome, stop)
        stop.raise_if_asked()
        try:
            return _read_and_judge(opening, outcome, stop)
        except Exception as error:
            purge_after_failure(opening.run, error)
            raise


def _read_and_judge(opening: Opened, outcome: RunOutcome, stop: StopRequest) -> SluiceError | None:
    """Account for what an earlier run left, read up to the topic's end or a limit, account for each
    batch, evaluate the checks. The problem of the run, if any.
    """
    run, found, warming = opening
    audit = _recovered(run, found)
    recovered = tuple(audit.accounts)
    outcome.lap("recover")
    if not recovered:
        stop.raise_if_asked()
    name = run.spec.name
    LOG.info(
        "%s: Spark is up; reading topic %s to its end, batch by batch", name, run.spec.inputs.name
    )
    forget_failing(run)
    limits = RunLimits(run.spec, stop)
    query = Query(run, audit, found.topic, limits)
    try:
        query.run()
    except Exception:
        outcome.drained = _until_failure(run, audit, recovered, limits, found.topic)
        raise
    finally:
        outcome.new_keys = query.new_keys
        outcome.lap("query")
        outcome.took("audit", audit.seconds)
    warming.join()
    outcome.drained = drained(run, audit, recovered, limits, found.topic)
    for topic, counts in audit.topics.items():
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        LOG.info("%s: topic %s: %s", name, topic, told)
    _judge(run, audit, outcome)
    purge_state(run, query.query_run_id)
    forget_deletes(run)
    outcome.lap("purge")
    # The verdict goes before a stop: a failed check must be told, and a stop is retried.
    return verdict(name, outcome.drained.table_version, outcome.checks) or limits.stopped


def _judge(run: Run, audit: Audit, outcome: RunOutcome) -> None:
    take_out_read_again(run)
    failpoint.at("checks")
    # One that came while this run was at work.
    refuse_restored(run.paths, audit.cursor.judged_table_version)
    outcome.checks = evaluate_checks(run, audit, outcome.drained)
    failpoint.at("judged")
    outcome.lap("checks")
    drained, failed = outcome.drained, {c.column for c in outcome.checks if c.outcome == "failed"}
    if 0 in drained.batches or failed:
        for line in resolve_name(REJECTED)(run, drained.batches, drained.account, failed):
            LOG.warning("%s", line)


def _recovered(run: Run, found: Preflight) -> Audit:
    """The account of the batches that an earlier run left, by what made them."""
    earlier = found.earlier(run.spec)
    refuse_half_made(run, earlier, other_code=found.other_code)
    if earlier.steps != run.spec.steps:
        resolve_name(CORRECTED)(run, earlier)
    left = Audit(run, earlier)
    left.catch_up({}, ended=True)
    audit = Audit(run, run.spec, left)
    if recovered := [*audit.accounts]:
        told = "%s: completed the account of batches %s, which an earlier run had left"
        LOG.info(told, run.spec.name, recovered)
    return audit


def _until_failure(
    run: Run, audit: Audit, recovered: tuple[int, ...], limits: RunLimits, topic: SourceState
) -> Drained:
    """It has no version of the table, so that `sluice accept` does not take it for a run that
    checked one.
    """
    with suppress(Exception):  # what failed the query is told first
        done = drained(run, audit, recovered, limits, topic)
        return replace(done, table_version_before=None, table_version=None)
    return Drained()
