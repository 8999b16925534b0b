"""Rebuilding: the parts of a rebuild, in their order: drain NEXT beside, merge what only the
archive has and its late records, show what differs, switch.

`sluice rebuild` and Airflow's form both do these; they differ in how they start Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.analysis.ranged import position_of
from spark_jobs.errors import LeaseHeld, RebuildRefused
from spark_jobs.journal.runner import settle
from spark_jobs.messages.job import Drain
from spark_jobs.rebuild.archive_merge import merge_archived, refuse_pending
from spark_jobs.rebuild.compare import Difference, difference
from spark_jobs.rebuild.late_merge import merge_late
from spark_jobs.rebuild.ready import behind
from spark_jobs.rebuild.switch import switch
from spark_jobs.root.paths import Paths
from spark_jobs.runs.plan import plan

if TYPE_CHECKING:
    from spark_jobs.checkpoint.notes.live import Live
    from spark_jobs.messages.report import Report
    from spark_jobs.rebuild.run import Arguments, Rebuilding

CATCH_UPS = 5
"""How often it catches up with a live pipeline that has drained meanwhile, before it gives up."""


class Computed(NamedTuple):
    """What `compute` did."""

    reports: tuple[Report, ...]
    """Of its runs."""
    waits: str
    """How many late records stay waiting, and why; empty if none does."""


def compute(it: Rebuilding) -> Computed:
    """Drain NEXT until nothing is left, and merge what only the archive has, and its late records.

    Raises LeaseHeld while another run does so, and the problem of a run.
    """
    settle(it.side, it.run)
    drained = drain_beside(it, it.run)
    older = merge_archived(it)
    reports, waits = merge_late(it)
    if waits:
        it.say(f"  {waits}")
    return Computed((*drained, *older, *reports), waits)


def drain_beside(it: Rebuilding, run: str) -> tuple[Report, ...]:
    """Drain NEXT until nothing is left, a run after the other where the spec bounds them."""
    name, reports = it.following.name, list["Report"]()
    while True:
        it.refuse()
        planned = plan(it.following, it.settings)
        if planned.idle:
            break
        each = f"{run}-{len(reports) + 1}"
        reports.append(it.passed(it.submit(_drain(name, each), each, planned.new_offsets)))
        if not reports[-1].bounded_by:
            break
    return tuple(reports)


def _drain(name: str, run_id: str) -> Arguments:
    return lambda at: Drain(pipeline=name, report=str(at), run_id=run_id)


def differing(it: Rebuilding) -> Difference:
    """What a switch would change now, by day."""
    return difference(it.paths.table, it.side.table, it.following, position_of(it.following))


def switched(it: Rebuilding, wait: Callable[[Paths], None]) -> Live:
    """Switch, after catching up with what the live pipeline has drained since the question.

    `wait` returns when no run works on the live table, or raises. Raises what `it.refuse` and
    `switch` do.
    """
    refuse_pending(it)
    for number in range(CATCH_UPS):
        wait(it.paths)
        if behind(it.paths, it.side):
            drain_beside(it, f"{it.run}-behind-{number}")
        it.refuse()
        try:
            return switch(it.live, it.following, it.settings.root, it.run)
        except LeaseHeld:  # a drain began in between
            continue
        except RebuildRefused:
            if not behind(it.paths, it.side):
                raise
    it.refuse()
    return switch(it.live, it.following, it.settings.root, it.run)
