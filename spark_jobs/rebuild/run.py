"""Rebuild run: the facts of one run of a rebuild that has begun (rebuild/beside.py), and how it
starts Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spark_jobs.messages.job import Run
from spark_jobs.messages.summary import check_line
from spark_jobs.messages.verdict import CHECK_CODES
from spark_jobs.rebuild.beside import beside_paths
from spark_jobs.root.paths import Paths

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.messages.report import Report
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

Arguments = Callable[["Path | UPath"], Run]
"""The path of the report -> the arguments of the application."""


class Submit(Protocol):
    """Runs an application beside, and returns its report."""

    def __call__(self, arguments: Arguments, run_id: str, records: int) -> Report: ...


class Rebuilding(NamedTuple):
    """A rebuild that has begun."""

    live: Pipeline
    """The spec that drains."""
    following: Pipeline
    """NEXT."""
    settings: Settings
    run: str
    """The ids of its runs begin with this."""
    who: str
    submit: Submit
    say: Callable[[str], object]
    """Takes each line for a person."""
    refuse: Callable[[], None]
    """Raises if it must not go on. It is asked before each drain and before the switch."""
    most_records: int = sys.maxsize
    """Late records wait if more are to be read to merge them."""
    without_lost: bool = False
    """The records that Kafka has no longer are left out, also those that the archive has."""

    @property
    def paths(self) -> Paths:
        """Of the live table."""
        return Paths(self.settings.root, self.live)

    @property
    def side(self) -> Paths:
        """Of what is computed."""
        return beside_paths(self.paths, self.following)

    def passed(self, report: Report) -> Report:
        """The report. Raises its problem; of a failed check with where it is to be accepted."""
        for check in report.checks:
            if check.outcome != "passed":
                self.say(f"  {check_line(check)}")
        if report.problem is None:
            return report
        error = report.problem.error()
        if report.problem.code in CHECK_CODES:
            raise error.adding(
                remedy="Give these commands with SLUICE_NEXT=on: the live table is as it was."
            )
        raise error
