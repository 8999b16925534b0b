"""Draining: one pipeline, through a worker or by spark-submit, and what is said of its end."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import log
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.cli.terminal import one_line_errors
from spark_jobs.launch.foreground import run_in_foreground
from spark_jobs.launch.submit import application, command, environment
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import Report, read_report
from spark_jobs.messages.summary import check_line, summary
from spark_jobs.registry import find as registry
from spark_jobs.root.paths import report_path
from spark_jobs.runs import plan
from spark_jobs.runs.run_record import recorded
from spark_jobs.settings.installation import Settings
from spark_jobs.warm.client import Warm, begun

if TYPE_CHECKING:
    from upath import UPath


class Due(NamedTuple):
    """A drain that has something to do."""

    report: Path | UPath
    records: int
    """To be read; 0 if unknown."""


LOG = logging.getLogger(__name__)
STDOUT, STDERR = 1, 2
"""The descriptors that a run writes to."""


def run_id_of(given: str | None) -> str:
    """The id of a run on the command line."""
    return given or f"cli-{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


def drain_one(pipeline: str, report: Path | None, run_id: str) -> None:
    """Raises typer.Exit, with the exit status of its error."""
    with one_line_errors(), log.context(pipeline=pipeline, run=run_id):
        settings = Settings.of(registry.load(pipeline))
        with recorded(pipeline, run_id):
            if not (due := _planned(pipeline, settings, run_id, report)):
                return
            if run := _warm(pipeline, due, settings, run_id):
                run.follow()
            else:
                words = command(settings, _job(pipeline, due, run_id), due.records)
                run_in_foreground(words, _variables(settings), application(settings.spark_env))
            summarise(read_report(due.report), due.report)


def _planned(pipeline: str, settings: Settings, run_id: str, report: Path | None) -> Due | None:
    """The drain, of which nothing is begun; None if there is nothing to do. Logs its plan."""
    found = plan.plan(live_spec(registry.load(pipeline), settings.root), settings)
    for line in found.lines:
        LOG.info("%s", line)
    if found.idle:
        return None
    path = report or report_path(settings.root, pipeline, run_id)
    path.unlink(missing_ok=True)
    return Due(path, found.new_offsets)


def _warm(pipeline: str, due: Due, settings: Settings, run_id: str) -> Warm | None:
    """The drain, which a worker has begun; None if it must start cold."""
    words = _job(pipeline, due, run_id).words()
    return begun(settings, pipeline, words, _variables(settings), due.records, (STDOUT, STDERR))


def _job(pipeline: str, due: Due, run_id: str) -> Drain:
    return Drain(pipeline=pipeline, report=str(due.report), run_id=run_id, told=True)


def _variables(settings: Settings) -> dict[str, str]:
    """The environment of an application."""
    return {**os.environ, **environment(settings)}


def summarise(report: Report, path: Path | UPath) -> None:
    """Log what the run did. Raises the run's problem."""
    first, *more = summary(report)
    checks = [check_line(check) for check in report.checks if check.outcome != "passed"]
    for line in (first, *(f"  {line}" for line in [*checks, *more]), f"report: {path}"):
        LOG.info("%s", line)
    if report.problem:
        raise report.problem.error()
