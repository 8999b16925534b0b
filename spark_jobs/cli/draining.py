"""Draining: one pipeline, and what is said of its end."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.terminal import with_spark
from spark_jobs.launch.warm import client
from spark_jobs.messages import log
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import Report, read_report
from spark_jobs.messages.stages import check_line, summary
from spark_jobs.registry import find as registry
from spark_jobs.runs import plan
from spark_jobs.runs.unbegun import recorded
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import report_path

if TYPE_CHECKING:
    from upath import UPath


class Due(NamedTuple):
    """A drain that has something to do."""

    report: Path | UPath
    records: int
    """To be read; 0 if unknown."""


LOG = logging.getLogger(__name__)


def run_id_of(given: str | None) -> str:
    """The id of a run on the command line."""
    return given or f"cli-{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


def drain_one(pipeline: str, report: Path | None, run_id: str) -> None:
    """Raises typer.Exit, with the exit status of its error."""
    with with_spark(), log.context(pipeline=pipeline, run=run_id):
        settings = Settings.of(registry.load(pipeline))
        with recorded(pipeline, run_id):
            if not (due := _planned(pipeline, settings, run_id, report)):
                return
            job = Drain(pipeline=pipeline, report=str(due.report), run_id=run_id, told=True)
            client.run(settings, job, due.records)
            summarise(read_report(due.report), due.report)


def _planned(pipeline: str, settings: Settings, run_id: str, report: Path | None) -> Due | None:
    found = plan.plan(live_spec(registry.load(pipeline), settings.root), settings)
    for line in found.lines:
        LOG.info("%s", line)
    if found.idle:
        return None
    path = report or report_path(settings.root, pipeline, run_id)
    path.unlink(missing_ok=True)
    return Due(path, found.new_offsets)


def summarise(report: Report, path: Path | UPath) -> None:
    """Log what the run did. Raises the run's problem."""
    first, *more = summary(report)
    checks = [check_line(check) for check in report.checks if check.outcome != "passed"]
    for line in (first, *(f"  {line}" for line in [*checks, *more]), f"report: {path}"):
        LOG.info("%s", line)
    if report.problem:
        raise report.problem.error()
