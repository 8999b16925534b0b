"""The application for spark-submit: `main.py drain <pipeline> --report <path> --run-id <id>`,
`stage`, `explain`, `validate`, `repartition`, `state` and
`serve`.

Its exit status is 0 if the command succeeded, else that of the error, which is in the report of a
drain (docs/operations.md).
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import logging
import os
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_jobs import failpoint, log
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.errors import SluiceError, unexpected
from spark_jobs.launch import parent_watch
from spark_jobs.launch.submit import TOLD
from spark_jobs.messages.kind import Kind
from spark_jobs.messages.report import Problem, Report
from spark_jobs.messages.withheld import of_problem
from spark_jobs.registry import find as registry
from spark_jobs.repair.compute.stage import stage
from spark_jobs.root.store import opened
from spark_jobs.root.store_errors import translate_store_error
from spark_jobs.runs.drain import drain
from spark_jobs.runs.explain import deep, explain
from spark_jobs.runs.failures.spark_errors import translate_error
from spark_jobs.runs.repartition import repartition
from spark_jobs.runs.run_record import append_row
from spark_jobs.runs.watch.watchdog import Watchdog
from spark_jobs.settings.installation import Settings, about_next, log_format, record_bytes, root
from spark_jobs.spec import Pipeline
from spark_jobs.state.query import StateQuery
from spark_jobs.state.view import state_view
from spark_jobs.stopping import StopRequest, stop_on_signals
from spark_jobs.warm.inside.recycling import Limits
from spark_jobs.warm.inside.worker import Worker
from spark_jobs.warm.start import BORN

if TYPE_CHECKING:
    pass

RUNS: Final = ("drain", "stage")
"""The commands that leave a report. Their sequences are runs/drain.py and
repair/compute/stage.py."""
LOG = logging.getLogger("spark_jobs.main")
"""The full name is needed: as a script this module is __main__."""


def main(words: list[str], *, warm: bool = False) -> int:
    """Run one command.

    A run always leaves a report, unless it is killed. Returns the exit status. `warm`: in a worker,
    which attends to whoever waits for the run.
    """
    wanted = _parse(words)
    _prepare()
    if wanted.command == "serve":
        return _serve(wanted.socket)
    if wanted.command not in RUNS:
        return _print(wanted)
    with log.context(pipeline=wanted.pipeline, run=wanted.run_id):
        return _run(wanted, warm=warm)


def _prepare() -> None:
    """Make this process fit for a run: whatever ran in it before."""
    log.setup(log_format())
    logging.getLogger("py4j").setLevel(
        logging.CRITICAL
    )  # it logs every error that it passes on, also interrupted sleeps
    # PySpark's: it logs what it raises.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    gc.set_threshold(100_000)  # importing Great Expectations would start hundreds of collections
    os.environ["TZ"] = "UTC"
    time.tzset()  # Python state gets naive local times from Spark


def _serve(socket: Path) -> int:
    """Be a worker for warm drains until it ends."""
    born = json.loads(os.environ.pop(BORN))
    limits = Limits.of(Settings.from_environment())
    Worker(socket, born, limits, lambda words: main(words, warm=True)).work()


def _run(wanted: argparse.Namespace, *, warm: bool) -> int:
    with (
        stop_on_signals() as stop
    ):  # until the report is written: a run without one counts as failed
        if not warm:
            parent_watch.watch()
        report = _reported(wanted, stop)
    failpoint.at("reported")
    return _ended(report, wanted) if report.problem else 0


def _ended(report: Report, wanted: argparse.Namespace) -> int:
    """The exit status of a run that has failed. Its error line is written, unless who reads the
    lines has it from whoever started the run: as JSON it belongs to the run's lines. Airflow's task
    logs have no values of records in it, unless they are shown.
    """
    assert report.problem is not None
    seen = wanted.told or record_bytes()
    problem = (report.problem if seen else of_problem(report.problem)).error()
    if wanted.told and log_format() == "text":
        return problem.exit_status
    return _log_problem(problem)


def _reported(wanted: argparse.Namespace, stop: StopRequest) -> Report:
    """Do a run, and write its report."""
    with Watchdog(_kind(wanted), wanted.run_id, wanted.report) as watchdog:
        return _written(_report_of(wanted, stop, watchdog), wanted)


def _kind(wanted: argparse.Namespace) -> Kind:
    """Of a run that failed before it knew more."""
    return "drain" if wanted.command == "drain" else "repair"


def _written(report: Report, wanted: argparse.Namespace) -> Report:
    """Write the report. If that fails, the report returned has this problem, unless it has one."""
    try:
        report.write(wanted.report)
    except Exception as error:  # noqa: BLE001 - if the object store is gone, the log line is all that remains
        if report.problem is None:
            return report.model_copy(update={"problem": Problem.of(_known(error))})
    return report


def _report_of(wanted: argparse.Namespace, stop: StopRequest, watchdog: Watchdog) -> Report:
    started = datetime.now(UTC)
    try:
        spec = registry.load(wanted.pipeline)
        log.setup(log_format())  # the pipeline's own code may have configured logging
        settings = Settings.from_environment()
        spec = live_spec(spec, settings.root)
        watchdog.watch(spec, settings)
        if wanted.command == "stage":
            return stage(spec, settings, wanted.run_id, wanted.repair, stop)
        return drain(spec, settings, wanted.run_id, stop)
    except Exception as error:  # noqa: BLE001 - an invalid spec or setting, before the drain began
        report = Report(
            kind=_kind(wanted),
            pipeline=wanted.pipeline,
            run_id=wanted.run_id,
            status="failed",
            problem=Problem.of(_known(error)),
            started_at=started,
            ended_at=datetime.now(UTC),
        )
    try:
        return append_row(report, root(), beside=about_next())
    except SluiceError:  # without a root there is no table
        return report


def _print(wanted: argparse.Namespace) -> int:
    """Run a command that only prints. Returns the exit status."""
    try:
        spec = registry.load(wanted.pipeline)
        settings = Settings.from_environment()
        if wanted.command == "state":
            lines = state_view(live_spec(spec, settings.root), settings, _state_query(wanted))
        elif wanted.command == "repartition":
            lines = _repartition(live_spec(spec, settings.root), settings, wanted.partitions)
        elif wanted.command == "explain":
            lines = explain(live_spec(spec, settings.root), settings)
        else:
            following = registry.load_next(wanted.pipeline)
            both = filter(None, (spec, following))
            lines = chain.from_iterable(deep(each, settings) for each in both)
        for line in lines:
            print(line, flush=True)  # noqa: T201 - the output
    except Exception as error:  # noqa: BLE001 - any error becomes one line
        return _log_problem(translate_error(error, wanted.pipeline))
    return 0


def _repartition(live: Pipeline, settings: Settings, wanted: int) -> Iterator[str]:
    """Move the state, watched as a run is. It leaves no report and no row."""
    parent_watch.watch()
    with Watchdog("drain", f"repartition-{uuid.uuid4().hex[:8]}", None) as watchdog:
        watchdog.watch(live, settings)
        yield from repartition(live, settings, wanted)


def _log_problem(problem: SluiceError) -> int:
    log.setup(log_format())  # whatever the pipeline's code did to logging, this line is written
    LOG.error("%s", problem)
    return problem.exit_status


def _known(error: BaseException) -> SluiceError:
    return translate_store_error(error) or unexpected(error)


def _state_query(wanted: argparse.Namespace) -> StateQuery:
    return StateQuery(
        tuple(wanted.key),
        wanted.step,
        wanted.at_batch,
        wanted.changes,
        wanted.batches,
        wanted.limit,
        wanted.keep,
    )


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="main.py", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    for name, run in (("drain", drain), ("stage", stage)):
        command = commands.add_parser(name, help=(inspect.getdoc(run) or "").partition("\n")[0])
        command.add_argument("pipeline", help="a folder of the package SLUICE_PIPELINES")
        if name == "stage":
            command.add_argument("--repair", required=True, help="the repair's id, from its plan")
        command.add_argument("--report", type=opened, required=True, help="path of the JSON report")
        command.add_argument("--run-id", required=True, help="the run's id in the ops tables")
        command.add_argument(TOLD, action="store_true", help="who started it tells its problem")
    command = commands.add_parser("serve", help="be a worker for warm drains (spark_jobs/warm)")
    command.add_argument("socket", type=Path, help="path of the socket to listen at")
    command = commands.add_parser(
        "explain", help="print the physical plan and its use of state; reads no records"
    )
    command.add_argument("pipeline", help="a folder of the package SLUICE_PIPELINES")
    command = commands.add_parser(
        "validate", help="plan the query with Spark; reads no records, needs no Kafka"
    )
    command.add_argument("pipeline", help="a folder of the package SLUICE_PIPELINES")
    command = commands.add_parser(
        "repartition", help="move the state to another number of stores; reads no records"
    )
    command.add_argument("pipeline", help="a folder of the package SLUICE_PIPELINES")
    command.add_argument("--partitions", type=int, required=True, help="stores for each step")
    command = commands.add_parser("state", help="print the state of a pipeline's stateful steps")
    command.add_argument("pipeline", help="a folder of the package SLUICE_PIPELINES")
    command.add_argument("--key", action="append", default=[], help="COLUMN=VALUE")
    command.add_argument("--step", type=int, help="the step's number, from 1")
    command.add_argument("--at-batch", type=int, help="show the state after this batch")
    command.add_argument("--changes", action="store_true", help="show what the batches changed")
    command.add_argument("--keep", action="store_true", help="keep the answer for the views")
    command.add_argument(
        "--batches", type=int, default=StateQuery().batches, help="number of batches to compare"
    )
    command.add_argument(
        "--limit", type=int, default=StateQuery().limit, help="number of rows to show"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
