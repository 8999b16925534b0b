"""Late merge: the repair of the late records of NEXT, beside the live table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import RangeInvalid, RangeOpen, RangeUnsupported, RecordsUnreachable
from spark_jobs.messages.request import Request
from spark_jobs.rebuild.side_repair import repair_beside
from spark_jobs.repair.find.late import late_fates
from spark_jobs.repair.planner import plan_repair

if TYPE_CHECKING:
    from spark_jobs.messages.report import Report
    from spark_jobs.rebuild.run import Rebuilding

NOT_MERGED = (RangeUnsupported, RangeOpen, RangeInvalid, RecordsUnreachable)
"""Why late records cannot be merged, yet or ever: they wait, as after a drain."""
NOT_FINAL = "drains of NEXT still write their rows; a repair after the switch merges them."


def merge_late(it: Rebuilding) -> tuple[tuple[Report, ...], str]:
    """Repair the table beside, where ranges of it can be computed: its late records go in. The
    reports, and how many late records stay waiting and why; empty if none does.
    """
    reports, why = _repaired(it)
    return reports, _waiting(it, why)


def _repaired(it: Rebuilding) -> tuple[tuple[Report, ...], str]:
    request = Request(kind="repair", who=it.who, note="rebuild", most_records=it.most_records)
    try:
        planned = plan_repair(it.following, it.settings, request)
    except NOT_MERGED as error:
        return (), error.what
    if planned.idle:
        return (), NOT_FINAL
    over = {each.code for each in NOT_MERGED}
    report, done = repair_beside(it, planned, f"{it.run}-late", over)
    if done is None:
        return (), report.problem.what if report.problem else ""
    it.say(f"  merged {done.merged:,} late records")
    return (report,), NOT_FINAL


def _waiting(it: Rebuilding, why: str) -> str:
    known, audited = read_identity(it.side), read_cursor(it.side.cursor).audited
    if known is None or audited < 0:
        return ""
    _, count = late_fates(it.side, known.generations, audited)
    return f"{count:,} late records stay waiting: {why}" if count else ""
