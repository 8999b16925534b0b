"""Rebuild run: NEXT as a pipeline beside: drained and repaired by what drains and repairs the live
one, compared with it, and switched to.

`sluice rebuild` and Airflow's form both do this; they differ in how they start Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from spark_jobs.admin.rebuild.archive import brought, told
from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.admin.rebuild.compare import difference
from spark_jobs.admin.rebuild.needs import NOTE, read_to
from spark_jobs.admin.rebuild.plan import plan_rebuild, refuse_lost
from spark_jobs.admin.rebuild.switch import behind, switch
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.errors import (
    LeaseHeld,
    RangeInvalid,
    RangeOpen,
    RangeUnsupported,
    RebuildRefused,
    RecordsUnreachable,
)
from spark_jobs.journal.runner import settle
from spark_jobs.messages.job import Drain, Run, Stage
from spark_jobs.messages.request import Request
from spark_jobs.messages.stages import check_line
from spark_jobs.messages.verdict import CHECK_CODES
from spark_jobs.repair.find.late import late_fates
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.manifest import approve, read_manifest
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.swap import swap
from spark_jobs.runs.plan import plan
from spark_jobs.spec.analysis.ranged import position_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from upath import UPath

    from spark_jobs.admin.rebuild.compare import Difference
    from spark_jobs.admin.rebuild.plan import RebuildPlan
    from spark_jobs.checkpoint.notes.live import Live
    from spark_jobs.messages.report import Report
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.swap import Swapped
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

CATCH_UPS = 5
"""How often it catches up with a live pipeline that has drained meanwhile, before it gives up."""
NOT_MERGED = (RangeUnsupported, RangeOpen, RangeInvalid, RecordsUnreachable)
"""Why late records cannot be merged, yet or ever: they wait, as after a drain."""
NOT_FINAL = "drains of NEXT still write their rows; a repair after the switch merges them."

JobAt: TypeAlias = "Callable[[Path | UPath], Run]"
"""The path of the report -> the job."""


class Submit(Protocol):
    """Runs a job about NEXT, and returns its report. `records`: how many it will read."""

    def __call__(self, run_id: str, job_at: JobAt, records: int) -> Report: ...


class Rebuilding(NamedTuple):
    """What a rebuild works with."""

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
    most_records: int = 2**62
    """Late records wait if more are to be read to merge them."""
    without_lost: bool = False
    """Whether it goes on without what Kafka has no longer, also without what the archive has."""

    @property
    def paths(self) -> Paths:
        """Of the live table."""
        return Paths(self.settings.root, self.live)

    @property
    def side(self) -> Paths:
        """Of NEXT's place, once the rebuild has begun."""
        return Paths(self.settings.root, self.following)

    def looked(self) -> RebuildPlan:
        """What is still to be done. Raises RecordsUnreachable if records are lost, and what
        `plan_rebuild` does.
        """
        found = plan_rebuild(self.live, self.following, self.settings)
        if not self.without_lost:
            refuse_lost(self.live, found)
        return found


class Computed(NamedTuple):
    """What `compute` did."""

    reports: tuple[Report, ...]
    """Of its runs."""
    waits: str
    """How many late records stay waiting, and why; empty if none does."""


def compute(it: Rebuilding) -> Computed:
    """Begin it, if nobody has. Drain NEXT until nothing is left, and merge what only the archive
    has, and its late records.

    Raises LeaseHeld while another run does so, and the problem of a run.
    """
    found = it.looked()
    if found.begun is None:
        begin(it.paths, it.following, found.topic_id, it.who)
    settle(it.side, it.run)
    drained = drain_beside(it, it.run)
    older = merge_archived(it)
    late, waits = merge_late(it)
    if waits:
        it.say(f"  {waits}")
    return Computed((*drained, *older, *late), waits)


def drain_beside(it: Rebuilding, run: str) -> tuple[Report, ...]:
    """Drain NEXT until nothing is left, a run after the other where the spec bounds them."""
    name, reports = it.following.name, list["Report"]()
    while True:
        it.looked()
        planned = plan(it.following, it.settings)
        if planned.idle:
            break
        each = f"{run}-{len(reports) + 1}"
        reports.append(_passed(it, each, _drain(name, each), planned.new_offsets))
        if not reports[-1].bounded_by:
            break
    return tuple(reports)


def _drain(name: str, run_id: str) -> JobAt:
    return lambda at: Drain(pipeline=name, report=str(at), run_id=run_id)


def merge_archived(it: Rebuilding) -> tuple[Report, ...]:
    """Put what only the archive has into NEXT's table, once; the report of the backfill.

    Raises RangeOpen while drains of NEXT still write rows that they touch; RangeInvalid for too
    many records; RecordsUnreachable; the problem of the run.
    """
    parts = {} if it.without_lost else it.looked().archived
    if not parts or not read_to(it.side):  # without a batch, drains write all rows yet
        return ()
    run_id = f"{it.run}-archive"
    found = brought(it.side, it.following, parts, run_id)
    # Its ranges are found, and may be years apart: no person has typed them.
    request = Request.found("backfill", who=it.who, note=NOTE, most_records=it.most_records)
    planned = plan_repair(it.following, it.settings, request, found.brought)
    report, _ = _repaired(it, planned, run_id)
    for line in told(found, parts, report.change.newly_bad if report.change else 0):
        it.say(line)
    return (report,)


def merge_late(it: Rebuilding) -> tuple[tuple[Report, ...], str]:
    """Repair NEXT's table, where ranges of it can be computed: its late records go in. The reports,
    and how many late records stay waiting and why; empty if none does.
    """
    request = Request(kind="repair", who=it.who, note="rebuild", most_records=it.most_records)
    reports, why = tuple["Report", ...](), NOT_FINAL
    try:
        planned = plan_repair(it.following, it.settings, request)
        if not planned.idle:
            report, done = _repaired(it, planned, f"{it.run}-late")
            reports = (report,)
            it.say(f"  merged {done.merged:,} late records")
    except NOT_MERGED as error:
        why = error.what
    known, audited = read_identity(it.side), read_cursor(it.side.cursor).audited
    _, waiting = late_fates(it.side, known.generations, audited) if known else (None, 0)
    return reports, f"{waiting:,} late records stay waiting: {why}" if waiting else ""


def _repaired(it: Rebuilding, planned: RepairPlan, run_id: str) -> tuple[Report, Swapped]:
    """Stage a plan, and swap it in. Raises the problem of the stage."""
    planned.store(it.side)

    def job(at: Path | UPath) -> Stage:
        return Stage(
            pipeline=planned.pipeline,
            kind=planned.kind,
            repair_id=planned.repair_id,
            report=str(at),
            run_id=run_id,
        )

    report = _passed(it, run_id, job, planned.offsets)
    if read_manifest(it.side, planned.repair_id).approval == "needed":
        # Nobody reads this table: the switch is what asks.
        approve(it.side, planned.repair_id, it.who)
    return report, swap(it.following, it.settings.root, planned.repair_id, run_id)


def _passed(it: Rebuilding, run_id: str, job: JobAt, records: int) -> Report:
    """The report. Raises its problem; of a failed check with where it is to be accepted."""
    report = it.submit(run_id, job, records)
    for check in report.checks:
        if check.outcome != "passed":
            it.say(f"  {check_line(check)}")
    if report.problem is None:
        return report
    error = report.problem.error()
    if report.problem.code in CHECK_CODES:
        raise error.adding(remedy="Give these commands with --next: the live table is as it was.")
    raise error


def differing(live: Paths, following: Pipeline) -> Difference:
    """What a switch would change now, by day. `live` are the paths of what drains. Raises
    RebuildRefused without a rebuild.
    """
    if read_begun(live) is None:
        raise RebuildRefused.no_rebuild(pipeline=live.pipeline)
    side = Paths(str(live.root), following)
    return difference(table_of(live), table_of(side), following, position_of(following))


def switched(it: Rebuilding, wait: Callable[[Paths], None]) -> Live:
    """Switch, after catching up with what the live pipeline has drained since the question.

    `wait` returns when no run works on the live table, or raises. Raises RebuildRefused if the
    switch would lose what only the archive has, and what `looked` and `switch` do.
    """
    if (parts := it.looked().archived) and not it.without_lost:
        raise RebuildRefused.archive_unread(pipeline=it.following.name, count=offsets_in(parts))
    for number in range(CATCH_UPS):
        wait(it.paths)
        if behind(it.paths, it.side):
            drain_beside(it, f"{it.run}-behind-{number}")
        it.looked()
        try:
            return switch(it.live, it.following, it.settings.root, it.run)
        except LeaseHeld:  # a drain began in between
            continue
        except RebuildRefused:
            if not behind(it.paths, it.side):
                raise
    it.looked()
    return switch(it.live, it.following, it.settings.root, it.run)
