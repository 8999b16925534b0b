"""The entry that spark-submit is given: `main.py drain <pipeline> --report <path> --run-id <id>`, `explain` and `state`.

Ends with 0 when the drain succeeded, otherwise with the exit status of the error in the report (docs/operations.md).
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
from datetime import UTC, datetime

from spark_jobs import failpoint, log
from spark_jobs.contract import registry
from spark_jobs.contract.errors import SluiceError, unexpected
from spark_jobs.contract.report import KINDS, Problem, Report
from spark_jobs.contract.settings import Settings, log_format
from spark_jobs.contract.store import opened
from spark_jobs.contract.store_errors import told as store_told
from spark_jobs.launch import parent_watch
from spark_jobs.runs.drain import drain
from spark_jobs.runs.explain import explain
from spark_jobs.state.query import Inquiry
from spark_jobs.state.view import answer
from spark_jobs.stopping import StopRequest, stop_on_signals

LOG = logging.getLogger("spark_jobs.main")
"""By its whole name: as a script this module is called __main__."""


def main(words: list[str]) -> int:
    """Run one command and leave a report, whatever happens short of a kill."""
    wanted = _parse(words)
    log.setup(log_format())
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it tells of every error that it passes on, interrupted sleeps too
    gc.set_threshold(100_000)  # importing Great Expectations alone would start hundreds of collections
    os.environ["TZ"] = "UTC"
    time.tzset()  # Python state gets naive local times from Spark
    if wanted.command not in KINDS:
        return _tell(wanted)
    with log.context(pipeline=wanted.pipeline, run=wanted.run_id):
        return _run(wanted)


def _run(wanted: argparse.Namespace) -> int:
    with stop_on_signals() as stop:  # to the end of the report: a run whose report is missing counts as failed
        parent_watch.watch()
        report = _written(_drained(wanted, stop), wanted)
    failpoint.at("reported")
    if report.problem is None:
        return 0
    return _told(report.problem.error())


def _written(report: Report, wanted: argparse.Namespace) -> Report:
    """The report; where it could not be written, with that as its problem, unless it has one."""
    try:
        report.write(wanted.report)
    except Exception as error:  # noqa: BLE001 - an object store that is gone: its line is all that is left to say
        if report.problem is None:
            return report.model_copy(update={"problem": Problem.of(_known(error))})
    return report


def _drained(wanted: argparse.Namespace, stop: StopRequest) -> Report:
    started = datetime.now(UTC)
    try:
        return drain(registry.load(wanted.pipeline), Settings.from_environment(), wanted.run_id, stop)
    except Exception as error:  # noqa: BLE001 - before the drain began: a spec or a setting
        return Report(
            kind=wanted.command, pipeline=wanted.pipeline, run_id=wanted.run_id, status="failed",
            problem=Problem.of(_known(error)), started_at=started, ended_at=datetime.now(UTC),
        )


def _tell(wanted: argparse.Namespace) -> int:
    """Commands that only print."""
    try:
        spec, settings = registry.load(wanted.pipeline), Settings.from_environment()
        lines = explain(spec, settings) if wanted.command == "explain" else answer(spec, settings, _inquiry(wanted))
        for line in lines:
            print(line, flush=True)  # noqa: T201 - the answer
    except Exception as error:  # noqa: BLE001 - as a drain: one line, whatever it was
        return _told(_known(error))
    return 0


def _told(problem: SluiceError) -> int:
    LOG.error("%s", problem)
    return problem.exit_status


def _known(error: BaseException) -> SluiceError:
    return store_told(error) or unexpected(error)


def _inquiry(wanted: argparse.Namespace) -> Inquiry:
    return Inquiry(tuple(wanted.key), wanted.step, wanted.at_batch, wanted.changes, wanted.batches, wanted.limit)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="main.py", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    command = commands.add_parser("drain", help="consume what Kafka holds now, and stop")
    command.add_argument("pipeline", help="a folder under spark_jobs/pipelines")
    command.add_argument("--report", type=opened, required=True, help="where to write what happened, as JSON")
    command.add_argument("--run-id", required=True, help="the run's name in the ops tables")
    command = commands.add_parser("explain", help="print the physical plan and what it does with state; reads nothing")
    command.add_argument("pipeline", help="a folder under spark_jobs/pipelines")
    command = commands.add_parser("state", help="print what a pipeline's stateful steps remember; writes nothing")
    command.add_argument("pipeline", help="a folder under spark_jobs/pipelines")
    command.add_argument("--key", action="append", default=[], help="COLUMN=VALUE")
    command.add_argument("--step", type=int, help="the step's number, from 1")
    command.add_argument("--at-batch", type=int, help="the state after this batch")
    command.add_argument("--changes", action="store_true", help="what the batches changed")
    command.add_argument("--batches", type=int, default=Inquiry().batches, help="how many batches to tell the changes of")
    command.add_argument("--limit", type=int, default=Inquiry().limit, help="how many rows to show")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
