"""The application for spark-submit. Its one argument is a job (messages/job.py), as JSON.

Its exit status is 0 if the job succeeded, else that of the error, which is in the report of a drain
(docs/operations.md).
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import time
from datetime import UTC, datetime
from pkgutil import resolve_name

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.errors import SluiceError, unexpected
from spark_jobs.launch import processes
from spark_jobs.launch.session import close_stores
from spark_jobs.messages import log
from spark_jobs.messages.job import Drain, Printing, Run, Serve, Stage, read
from spark_jobs.messages.report import Problem, Report
from spark_jobs.messages.withheld import of_problem
from spark_jobs.registry import find as registry
from spark_jobs.runs.drain import drain
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.runs.run_record import append_row
from spark_jobs.runs.watch.limits import StopRequest, stop_on_signals
from spark_jobs.runs.watchdog import Watchdog
from spark_jobs.settings.installation import Settings, about_next, log_format, record_bytes
from spark_jobs.settings.roots import given_root
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.store import opened, translate_store_error

SERVE = "spark_jobs.launch.warm.inside.worker:serve"
STAGE = "spark_jobs.repair.stage:stage"
LOG = logging.getLogger("spark_jobs.main")
"""The full name is needed: as a script this module is __main__."""


def main(words: list[str], *, warm: bool = False) -> int:
    """Do one job.

    A run always leaves a report, unless it is killed. Returns the exit status. `warm`: in a worker,
    which attends to whoever waits for the run.
    """
    job = read(words)
    _prepare()
    if isinstance(job, Serve):
        return int(resolve_name(SERVE)(job.socket, lambda words: main(words, warm=True)))
    if not isinstance(job, Drain | Stage):
        return _print(job)
    with log.context(pipeline=job.pipeline, run=job.run_id):
        return _run(job, warm=warm)


def _prepare() -> None:
    """Make this process fit for a run, whatever ran in it before."""
    log.setup(log_format())
    # py4j logs every error that it passes on, also interrupted sleeps. PySpark logs what it raises.
    for name in ("py4j", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    gc.set_threshold(100_000)  # importing Great Expectations would start hundreds of collections
    os.environ["TZ"] = "UTC"
    time.tzset()  # Python state gets naive local times from Spark


def _run(job: Run, *, warm: bool) -> int:
    with (
        stop_on_signals() as stop
    ):  # until the report is written: a run without one counts as failed
        if not warm:
            processes.watch()
        report = _reported(job, stop)
    failpoint.at("reported")
    return _ended(report, job) if report.problem else 0


def _ended(report: Report, job: Run) -> int:
    """The exit status of a run that has failed. Its error line is written, unless who reads the
    lines has it from whoever started the run: as JSON it belongs to the run's lines. Airflow's task
    logs have no values of records in it, unless they are shown.
    """
    assert report.problem is not None
    seen = job.told or record_bytes()
    problem = (report.problem if seen else of_problem(report.problem)).error()
    if job.told and log_format() == "text":
        return problem.exit_status
    return _log_problem(problem)


def _reported(job: Run, stop: StopRequest) -> Report:
    with Watchdog(job.kind, job.pipeline, job.run_id, opened(job.report)) as watchdog:
        return _written(_report_of(job, stop, watchdog), job)


def _written(report: Report, job: Run) -> Report:
    """Write the report. If that fails, the report returned has this problem, unless it has one."""
    try:
        report.write(opened(job.report))
    except Exception as error:  # noqa: BLE001 - if the object store is gone, the log line is all that remains
        if report.problem is None:
            return report.model_copy(update={"problem": Problem.of(_known(error))})
    return report


def _report_of(job: Run, stop: StopRequest, watchdog: Watchdog) -> Report:
    started = datetime.now(UTC)
    try:
        spec = registry.load(job.pipeline)
        log.setup(log_format())  # the pipeline's own code may have configured logging
        settings = Settings.from_environment()
        spec = live_spec(spec, settings.root)
        watchdog.watch(spec.stall_timeout, settings)
        if isinstance(job, Stage):
            staged: Report = resolve_name(STAGE)(
                spec, settings, job.run_id, job.repair_id, stop, job.kind
            )
            return staged
        return drain(spec, settings, job.run_id, stop)
    except Exception as error:  # noqa: BLE001 - an invalid spec or setting, before the drain began
        report = Report.of_failure(job.kind, job.pipeline, job.run_id, _known(error), started)
    try:
        return append_row(report, given_root(), beside=about_next())
    except SluiceError:  # without a root there is no table
        return report


def _print(job: Printing) -> int:
    """Do a job that only prints. Returns the exit status."""
    try:
        spec = registry.load(job.pipeline)
        settings = Settings.from_environment()
        of_it = live_spec(spec, settings.root) if job.of_live else spec
        for line in resolve_name(job.done_by)(job, of_it, settings):
            print(line, flush=True)  # noqa: T201 - the output
    except Exception as error:  # noqa: BLE001 - any error becomes one line
        return _log_problem(translate_error(error, job.pipeline))
    return 0


def _log_problem(problem: SluiceError) -> int:
    log.setup(log_format())  # whatever the pipeline's code did to logging, this line is written
    LOG.error("%s", problem)
    return problem.exit_status


def _known(error: BaseException) -> SluiceError:
    return translate_store_error(error) or unexpected(error)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    finally:
        close_stores()
