"""Sharing: which drains of one command may share an application, and what came of those that did.

An application does its drains in turn (warm/in_turn.py), and ends early rather than go on over what
a failed drain may have left at work. Who started it starts the next one for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.contract.errors import RunStalled, Stopped
from spark_jobs.contract.report import Report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spark_options import Options
from spark_jobs.contract.verdict import CHECK_CODES

if TYPE_CHECKING:
    from pathlib import Path

    from upath import UPath

UNBEGUN: Final = 75
"""The exit status of an application that ended before its last drain, of its own will: the drains
without a report have not begun. sysexits.h has it for "try again"; no error of Sluice does.
"""


class Due(NamedTuple):
    """A drain that has something to do."""

    pipeline: str
    report: Path | UPath
    records: int
    """To be read; 0 if unknown."""
    options: Options
    """The spec's own options of Spark."""


def shared(due: Iterable[Due], settings: Settings) -> list[list[Due]]:
    """The drains of each application, in their order.

    Options of Spark are those of a JVM, so drains that share one have the same. On a cluster each
    has one of its own: what a drain leaves on executors is not cleaned up from here.
    """
    if not settings.local:
        return [[each] for each in due]
    together = dict[tuple[tuple[str, str], ...], list[Due]]()
    for each in due:
        together.setdefault(tuple(sorted(each.options.items())), []).append(each)
    return [*together.values()]


def leaves_nothing_at_work(report: Report) -> bool:
    """Whether the run has ended by itself, so that its JVM may do another one.

    A run that failed before its session had no query; one whose checks alone failed has ended its
    query, its account and its checks. Behind any other failure a query may be at work yet. The
    watchdog's report has no seconds, wherever the run stood still.
    """
    problem = report.problem
    if problem is None or problem.code in CHECK_CODES:
        return True
    return "start" not in report.seconds and problem.code != RunStalled.code


def killed_at_work(reports: Sequence[Report | None], status: int) -> int | None:
    """Which drain was at work when the application was killed; None if none was.

    `reports` are those of its drains, in their order; `status` is its exit status. It is the first
    drain without a report, unless the application had ended before that one began.
    """
    if None not in reports or status == Stopped.exit_status:
        return None
    first = reports.index(None)
    before = reports[first - 1] if first else None
    if before is not None and (status == UNBEGUN or not leaves_nothing_at_work(before)):
        return None
    return first
