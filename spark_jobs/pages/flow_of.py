"""The flows of a run: of its offsets or records, and of the rows that it would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import CheckFailed
from spark_jobs.messages.kind import STAGED_KINDS
from spark_jobs.pages.flow import ENDS, SAID, Flow, Part, Stage

if TYPE_CHECKING:
    from spark_jobs.messages.held_back import HeldBack
    from spark_jobs.messages.report import Account
    from spark_jobs.ops.at_work.shown import AtWork
    from spark_jobs.ops.shown import RunPage, TopicLine


def flow_of(found: RunPage) -> Flow | None:
    """Of a run; None if it accounted for no offset and no record."""
    if found.line.kind in STAGED_KINDS:
        made = _staged(found.account)
    else:
        ends = found.offsets_end
        held = sum(still_held(each, ends.get(p)) for p, each in found.held_back.items())
        made = _drained(found.account, held, _left(found))
    return made if made.whole else None


def flow_so_far(work: AtWork) -> Flow | None:
    """Of a drain that works: of the batches that it has accounted for, and of what is to come."""
    left = work.offsets_left
    if left is not None:
        left += max(0, work.offsets_done - work.account.covered)
    made = _drained(work.account, 0, left, "to come")
    return made if made.whole else None


def _left(found: RunPage) -> int | None:
    """None of a run that failed before it was at the end, unless a limit ended it."""
    whole = found.line.status == "succeeded" or found.line.problem == CheckFailed.code
    return found.waiting if found.bounded_by or (whole and not found.cut_off) else None


def says(found: RunPage) -> dict[str, str]:
    """Part -> what it means in this run, where that is more than SAID has."""
    account, said = found.account, dict[str, str]()
    if _left(found) is None:
        said["left"] = "it did not come to the end, and does not say how far that was"
    elif found.waiting:
        said["left"] = f"left by {found.bounded_by}: the next run reads them"
    if account.unkept:
        kept = f"the bytes of {account.unkept:,} bad ones are not kept"
        said["malformed"] = f"{SAID['malformed']}; {kept}"
    if account.inserted or account.updated:
        said["in rows"] = f"{account.inserted:,} inserted, {account.updated:,} updated"
    elif account.rows_out:
        of = "of the ranges" if found.line.kind in STAGED_KINDS else "were written"
        said |= dict.fromkeys(ENDS, f"{account.rows_out:,} rows {of}")
    if account.duplicates is None:
        said["duplicates"] = "the progress of a batch was lost: among the accepted ones"
    return said


def still_held(held: HeldBack, end: int | None) -> int:
    """What of it no batch of the run has read: the transaction may have ended meanwhile. `end`: the
    next offset of the partition to read.
    """
    if held.first is None or end is None:
        return held.offsets
    return max(0, held.first + held.offsets - max(held.first, end))


def flow_of_rows(found: RunPage) -> Flow | None:
    """Of the table's rows, by a run that computes beside it; None without any."""
    change = found.change
    if change is None:
        return None
    parts = (
        Part("changed", change.changed),
        Part("added", change.added),
        Part("removed rows", change.removed),
    )
    same = change.rows_after - change.added - change.changed  # those before are counted apart
    there = Stage("rows before, and added", change.rows_before + change.added, parts, same)
    made = Flow("rows", (there,), Part("as they were", max(0, same)))
    return made if made.whole else None


def _drained(account: Account, held: int, left: int | None, name: str = "left") -> Flow:
    told = account.aborted + account.markers + account.removed
    lacks = account.covered - account.gaps - account.read
    start = Stage(
        "offsets",
        account.covered + held + (left or 0),
        (
            Part("held", held),
            Part(name, left),
            Part("aborted", account.aborted),
            Part("markers", account.markers),
            Part("removed", account.removed),
            Part("gaps", account.gaps - told),
            Part("unknown", min(max(lacks, 0), account.unknown)),
        ),
        account.read,
    )
    taken = _taken(account)
    end = Part(_end(account), max(0, taken.after))
    return Flow("offsets", (start, read_stage(account), taken), end)


def read_stage(account: Account | TopicLine) -> Stage:
    """What became of the records that were read."""
    names = ("late", "filtered", "premature", "malformed")
    parts = tuple(Part(name, getattr(account, name)) for name in names)
    return Stage("read", account.read, parts, account.accepted)


def _taken(account: Account) -> Stage:
    """Copies; and of a table that follows a key, what became of each change."""
    keyed = ("superseded", "absent", "deleted")
    parts = tuple(Part(name, getattr(account, name)) for name in ("duplicates", *keyed))
    fates = account.inserted + account.updated
    if fates or any(part.records for part in parts[1:]):
        after = fates  # each accepted change has a fate, which Delta's log was held against
    else:
        after = account.accepted - (account.duplicates or 0)
    return Stage("accepted", account.accepted, parts, after)


def _end(account: Account) -> str:
    if account.inserted or account.updated:
        return "in rows"
    if account.duplicates is None:
        return "accepted, copies among them"
    return "each once" if account.duplicates else "accepted"


def _staged(account: Account) -> Flow:
    """`outside` is what is left: nothing counts it by itself. What the sources gave is held against
    the plan, which is the account's `unaccounted`.
    """
    names = ("filtered", "premature", "malformed")
    parts = tuple(Part(name, getattr(account, name)) for name in names)
    outside = account.read - sum(part.records or 0 for part in parts) - account.accepted
    read = Stage("read", account.read, (Part("outside", max(0, outside)), *parts), account.accepted)
    copies = Part("duplicates", account.duplicates)
    after = account.accepted - (account.duplicates or 0)
    return Flow(
        "records",
        (read, Stage("used", account.accepted, (copies,), after)),
        Part("computed from", max(0, after)),
    )
