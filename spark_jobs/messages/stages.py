"""Stages: what became of offsets, of the records read and of those accepted, by an account; and the
summary of a run by them.

Each is a sum that must hold. The lines of runs and the drawings of pages are made of them. The
command line and Airflow's task log print the same lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.messages.part import held_back_line
from spark_jobs.messages.report import CheckResult, Report

if TYPE_CHECKING:
    from spark_jobs.messages.offset_account import Account

OF_THE_READ: Final = (
    "late", "filtered", "malformed", "premature", "kept_aside", "outside",
)  # fmt: skip
"""Counts of records that were read and not accepted."""
OF_THE_ACCEPTED: Final = ("duplicates", "superseded", "absent", "deleted")
"""Counts of accepted records that are in no row."""
IN_ROWS: Final = ("inserted", "updated")
"""Counts of accepted changes that are in the rows, where a table follows a key."""
ALWAYS: Final = ("duplicates", "late", "filtered", "malformed", "premature")
"""Counts that a line has even if they are 0."""


class Counts(NamedTuple):
    """What is there, and what becomes of it. The unit is records, or offsets."""

    whole: int
    gone: dict[str, int | None]
    """Name -> how many go no further; None if nobody knows."""
    after: int
    """How many go on."""


def of_offsets(account: Account) -> Counts:
    told = account.aborted + account.markers + account.removed
    lacks = account.covered - account.gaps - account.read
    gone: dict[str, int | None] = {
        "aborted": account.aborted,
        "markers": account.markers,
        "removed": account.removed,
        "gaps": account.gaps - told,
        "unknown": min(max(lacks, 0), account.unknown),
    }
    return Counts(account.covered, gone, account.read)


def of_read(account: Account) -> Counts:
    gone = {name: getattr(account, name) for name in OF_THE_READ}
    return Counts(account.records, gone, account.accepted)


def of_accepted(account: Account) -> Counts:
    """Copies; and of a table that follows a key, what became of each change."""
    gone = {name: getattr(account, name) for name in OF_THE_ACCEPTED}
    fates = sum(getattr(account, name) for name in IN_ROWS)
    if fates or any(gone[name] for name in OF_THE_ACCEPTED[1:]):
        after = fates  # each accepted change has a fate, which Delta's log was held against
    else:
        after = account.accepted - (account.duplicates or 0)
    return Counts(account.accepted, gone, after)


def account_line(account: Account) -> str:
    """All that became of the records, and what is wrong: each count by its name. A count that is 0
    may be left out.
    """
    parts = of_accepted(account).gone | of_read(account).gone
    parts |= {name: getattr(account, name) for name in IN_ROWS}
    parts |= of_offsets(account).gone | {"unknown": account.unknown}
    every = dict.fromkeys(ALWAYS) | parts  # these come first
    told_parts = (
        f"{name.replace('_', ' ')} {told(count)}"
        for name, count in every.items()
        if count or name in ALWAYS
    )
    return ", ".join(
        (
            f"read {account.read:,}",
            *([f"elements {account.elements:,}"] if account.elements else ()),
            *([f"empty {account.empty:,}"] if account.empty else ()),
            *([f"refused {account.refused:,}"] if account.refused else ()),
            f"accepted {account.accepted:,}",
            f"out {account.rows_out:,}",
            *told_parts,
            f"unaccounted {told(account.unaccounted)}",
            *([f"counted and not kept {account.unkept:,}"] if account.unkept else ()),
        )
    )


def told(count: int | None) -> str:
    """A count that may be unknown: that is not 0.

    >>> told(1234), told(None)
    ('1,234', 'not known')
    """
    return "not known" if count is None else f"{count:,}"


UNKNOWN: Final = "null"
"""What a state check has observed of a metric that is not known."""


def summary(report: Report) -> tuple[str, ...]:
    """The run's counts and time; batches, table version, state and watermark, or what a repair
    would change; open windows; the limit that ended it.
    """
    state = report.state
    watermark = report.watermark.isoformat() if report.watermark else "none yet"
    seconds = (report.ended_at - report.started_at).total_seconds()
    lines = [
        f"{report.pipeline} {report.status}: {account_line(report.account)}; {seconds:.1f} s, the "
        f"query {report.query_seconds:.1f} s of them",
        str(report.change)
        if report.change
        else f"{len(report.batches)} batches, table version {report.table_version_before} -> "
        f"{report.table_version}, "
        f"state {state.rows_before:,} -> {state.rows:,} rows, {state.bytes / 2**20:,.1f} MiB, "
        f"watermark {watermark}",
    ]
    if report.left_open:
        lines.append(report.left_open)
    if report.bounded_by:
        lines.append(
            f"ended by {report.bounded_by}: {report.waiting:,} offsets wait for the next run"
        )
    if report.up_to:
        lines.append(f"whole up to {report.up_to.id} of {report.up_to.topic}")
    lines += (held_back_line(partition, held) for partition, held in report.held_back.items())
    return tuple(lines)


def check_line(check: CheckResult) -> str:
    """The result of a check, on one line."""
    line = f"{check.outcome} ({check.severity}): {check.name}"
    if check.observed:
        line += f", observed {check.observed}"
    if check.suite == "state" and check.observed == UNKNOWN:
        line += " (not known: it is in no bound's way, and proves nothing)"
    if check.outcome != "passed":
        line += f", {check.unexpected:,} failing" if check.unexpected else ""
        line += f", for example {check.sample}" if check.sample else ""
        line += f". {check.about}" if check.about else ""
    return line
