"""Rebuilding: the parts of a rebuild, in their order: drain NEXT beside, merge its late records,
show what differs, switch.

`sluice rebuild` and Airflow's form both do these; they differ in how they start Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.switching import read_switching
from spark_jobs.contract.errors import (
    LeaseHeld,
    RangeInvalid,
    RangeOpen,
    RangeUnsupported,
    RebuildRefused,
    RecordsUnreachable,
)
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.ranged import position_of
from spark_jobs.contract.request import Request
from spark_jobs.contract.summary import check_line
from spark_jobs.contract.verdict import CHECK_CODES
from spark_jobs.launch import submit
from spark_jobs.rebuild.compare import Difference, difference
from spark_jobs.rebuild.ops_rows import put_runs
from spark_jobs.rebuild.ready import behind
from spark_jobs.rebuild.side import side_paths
from spark_jobs.rebuild.switch import complete, switch
from spark_jobs.repair.late import late_fates
from spark_jobs.repair.manifest import approve, read_manifest
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap
from spark_jobs.runs.plan import plan

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.checkpoint.live import Live
    from spark_jobs.contract.report import Report
    from spark_jobs.contract.settings import Settings
    from spark_jobs.contract.spec import Pipeline

Arguments = Callable[["Path | UPath"], list[str]]
"""The path of the report -> the arguments of the application."""
NOT_MERGED = (RangeUnsupported, RangeOpen, RangeInvalid, RecordsUnreachable)
"""Why late records cannot be merged, yet or ever: they wait, as after a drain."""
NOT_FINAL = "drains of NEXT still write their rows; a repair after the switch merges them."
CATCH_UPS = 5
"""How often it catches up with a live pipeline that has drained meanwhile, before it gives up."""


class Submit(Protocol):
    """Runs an application in the side root, and returns its report."""

    def __call__(self, arguments: Arguments, run_id: str, records: int) -> Report: ...


class Rebuilding(NamedTuple):
    """A rebuild that has begun (rebuild/side.py)."""

    live: Pipeline
    """The spec that drains."""
    following: Pipeline
    """NEXT."""
    settings: Settings
    """With the live root."""
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

    @property
    def paths(self) -> Paths:
        """Of the live table."""
        return Paths(self.settings.root, self.live)

    @property
    def side(self) -> Paths:
        """Of what is computed."""
        return side_paths(self.paths, self.following)

    @property
    def beside(self) -> Settings:
        """With the side root."""
        return self.settings._replace(root=str(self.paths.rebuild))


class Computed(NamedTuple):
    """What `compute` did."""

    reports: tuple[Report, ...]
    """Of its runs."""
    waits: str
    """How many late records stay waiting, and why; empty if none does."""


def compute(it: Rebuilding) -> Computed:
    """Drain NEXT until nothing is left, and merge its late records.

    Raises LeaseHeld while another run does so, and the problem of a run.
    """
    drained = drain_beside(it, it.run)
    reports, why = _merge_late(it)
    if waits := _waiting(it, why):
        it.say(f"  {waits}")
    return Computed((*drained, *reports), waits)


def drain_beside(it: Rebuilding, run: str) -> tuple[Report, ...]:
    """Drain NEXT until nothing is left, a run after the other where the spec bounds them."""
    name, reports = it.following.name, list["Report"]()
    while True:
        it.refuse()
        planned = plan(it.following, it.beside)
        if planned.idle:
            break
        each = f"{run}-{len(reports) + 1}"
        try:
            report = it.submit(_drain(name, each), each, planned.new_offsets)
        finally:
            put_runs(it.side, it.paths)
        reports.append(_passed(it, report))
        if not report.bounded_by:
            break
    return tuple(reports)


def _drain(name: str, run_id: str) -> Arguments:
    return lambda at: submit.arguments("drain", name, at, run_id)


def _merge_late(it: Rebuilding) -> tuple[tuple[Report, ...], str]:
    """Repair the side table, where ranges of it can be computed: its late records go in. The
    reports, and why those that are left wait.
    """
    name, repair = it.following.name, f"{it.run}-late"
    request = Request(kind="repair", who=it.who, note="rebuild", most_records=it.most_records)
    try:
        planned = plan_repair(it.following, it.beside, request)
    except NOT_MERGED as error:
        return (), error.what
    if planned.idle:
        return (), NOT_FINAL
    planned.store(it.side)
    report = it.submit(
        lambda at: submit.stage_arguments(name, planned.repair_id, at, repair),
        repair,
        planned.offsets,
    )
    if report.problem and report.problem.code in {each.code for each in NOT_MERGED}:
        return (), report.problem.what
    _passed(it, report)
    if read_manifest(it.side, planned.repair_id).approval == "needed":
        # Nobody reads this table: the switch is what asks.
        approve(it.side, planned.repair_id, it.who)
    done = swap(it.following, it.beside.root, planned.repair_id, repair)
    it.say(f"  merged {done.merged:,} late records")
    return (report,), NOT_FINAL


def _waiting(it: Rebuilding, why: str) -> str:
    known, audited = read_identity(it.side), read_cursor(it.side.cursor).audited
    if known is None or audited < 0:
        return ""
    _, count = late_fates(it.side, known.generations, audited)
    return f"{count:,} late records stay waiting: {why}" if count else ""


def _passed(it: Rebuilding, report: Report) -> Report:
    """The report. Raises its problem; of a failed check with where it is to be accepted."""
    for check in report.checks:
        if check.outcome != "passed":
            it.say(f"  {check_line(check)}")
    if report.problem is None:
        return report
    error = report.problem.error()
    if report.problem.code in CHECK_CODES:
        raise type(error)(
            error.what,
            f"{error.remedy} Give these commands with SLUICE_ROOT={it.beside.root}: the live table "
            "is as it was.",
        )
    raise error


def differing(it: Rebuilding) -> Difference:
    """What a switch would change now, by day."""
    return difference(it.paths.table, it.side.table, it.following, position_of(it.following))


def switched(it: Rebuilding, wait: Callable[[Paths], None]) -> Live:
    """Switch, after catching up with what the live pipeline has drained since the question.

    `wait` returns when no run works on the live table, or raises. Raises what `it.refuse` and
    `switch` do.
    """
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


def completed(live: Pipeline, settings: Settings, run: str) -> Live | None:
    """Complete a switch that was cut off; None if there is none. `live` is the spec that its note
    names. Raises LeaseHeld while a run does so.
    """
    paths = Paths(settings.root, live)
    if read_switching(paths.switching) is None:
        return None
    with lease(paths.lease, run) as held:
        return complete(live, paths, held)
