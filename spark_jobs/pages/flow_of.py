"""The flows of a run: of its offsets or records, of the rows that it would change, and of each of
several topics, with whether they add up to the run's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import CheckFailed
from spark_jobs.messages.kind import STAGED_KINDS
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.stages import of_accepted, of_offsets, of_read
from spark_jobs.ops.views import OF_A_TOPIC
from spark_jobs.pages.flow import ENDS, SAID, Flow, Part, Stage

if TYPE_CHECKING:
    from spark_jobs.messages.part import HeldBack
    from spark_jobs.messages.stages import Counts
    from spark_jobs.ops.at_work import AtWork
    from spark_jobs.ops.json_of_tables import RunPage, TopicLine


def flow_of(found: RunPage) -> Flow | None:
    """Of a run; None if it accounted for no offset and no record."""
    if found.line.kind in STAGED_KINDS:
        # What the sources gave is held against the plan: the account's `unaccounted`.
        used = stage_of("used", of_accepted(found.account))
        read = stage_of("read", of_read(found.account))
        made = Flow("records", (read, used), Part("computed from", max(0, used.after)))
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
    covered, taken = of_offsets(account), stage_of("accepted", of_accepted(account))
    waits = (Part("held", held), Part(name, left))
    gone = stage_of("offsets", covered).parts
    start = Stage("offsets", covered.whole + held + (left or 0), (*waits, *gone), covered.after)
    end = Part(_end(account), max(0, taken.after))
    read = stage_of("read", of_read(account))
    if account.records != account.read:  # of values with many
        return Flow("records", (read, taken), end)
    return Flow("offsets", (start, read, taken), end)


def stage_of(name: str, counts: Counts) -> Stage:
    """What an account says of it."""
    gone = (Part(each.replace("_", " "), count) for each, count in counts.gone.items())
    return Stage(name, counts.whole, tuple(gone), counts.after)


def _end(account: Account) -> str:
    if account.inserted or account.updated:
        return "in rows"
    if account.duplicates is None:
        return "accepted, copies among them"
    return "each once" if account.duplicates else "accepted"


def flow_of_topic(topic: TopicLine) -> Flow:
    """Of one of several topics, as far as each has counts of its own."""
    start = Stage("offsets", topic.read + topic.gaps, (Part("gaps", topic.gaps),), topic.read)
    account = Account(**{name: getattr(topic, name) for name in OF_A_TOPIC})
    read = stage_of("read", of_read(account))
    return Flow("offsets", (start, read), Part("accepted", max(0, topic.accepted)))


def topics_differ(found: RunPage) -> list[str]:
    """The counts whose sum over topics is another than the run's; nothing where a batch does not
    say it by topic, or another run has accounted for one.
    """
    told = [batch for batch in found.batches if batch.account.covered]
    whole = sum(batch.account.read for batch in told) == found.account.read
    if not found.topics or not whole or any(batch.topics is None for batch in told):
        return []
    names = ("read", "accepted", "late", "malformed", "premature", "filtered")
    return [
        name
        for name in names
        if sum(getattr(topic, name) for topic in found.topics) != getattr(found.account, name)
    ]
