"""The flow of a run: where its offsets or records went, stage by stage, as sums that must hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import CheckFailed
from spark_jobs.messages.kind import STAGED_KINDS

if TYPE_CHECKING:
    from spark_jobs.messages.held_back import HeldBack
    from spark_jobs.messages.report import Account
    from spark_jobs.ops.at_work.shown import AtWork
    from spark_jobs.ops.shown import RunPage, TopicLine

SAID = {
    "held": "behind open transactions when the run began",
    "left": "not read: the next run reads them",
    "to come": "not read, or not accounted for yet",
    "aborted": "of aborted transactions: no records",
    "markers": "markers of transactions: no records",
    "removed": "gone before Spark read them",
    "gaps": "without a record: why is not known",
    "unknown": "gone before their account: in the table, in none of the counts",
    "malformed": "cannot be decoded",
    "premature": "too far ahead of their time",
    "late": "behind the watermark",
    "filtered": "a condition of the spec leaves them out",
    "outside": "no row of the ranges needs them: all others",
    "duplicates": "copies that were dropped",
    "superseded": "older than another change of their key",
    "absent": "deletes of a key that had no row",
    "deleted": "deletes: the row of their key is gone",
    "missing": "nobody knows where they went",
    "surplus": "more than there were",
    "removed rows": "the computation does not give them",
    "changed": "they have other values",
    "added": "the table lacked them",
}
"""Part -> what it means."""
ENDS = ("accepted", "accepted, copies among them", "computed from")
KIND = {
    **dict.fromkeys(ENDS, "accepted"),
    "in rows": "accepted",
    "as they were": "duplicates",
    "changed": "late",
    "added": "filtered",
    "removed rows": "malformed",
    "to come": "come",
}
"""Part -> the colour's class, if that has another name."""


class Part(NamedTuple):
    """What leaves the flow at a stage, or comes to its end."""

    name: str
    records: int | None
    """None if nobody knows: it has no width then, and takes nothing from the sum."""

    @property
    def kind(self) -> str:
        """Its class in the style sheet."""
        return KIND.get(self.name, self.name)


class Stage(NamedTuple):
    """What is there, and what of it goes no further."""

    name: str
    records: int
    parts: tuple[Part, ...]
    after: int
    """What goes on: the next stage's records, or the flow's end."""

    @property
    def leaves(self) -> tuple[Part, ...]:
        """Those that take something, and those that are not known. `missing` is what lacks for the
        sum.
        """
        lacks = (Part("missing", max(0, self._rest)),)
        there = (*lacks, *self.parts)
        return tuple(part for part in there if part.records is None or part.records > 0)

    @property
    def surplus(self) -> int:
        """How much more goes than was there."""
        return max(0, -self._rest)

    @property
    def _rest(self) -> int:
        known = (max(0, part.records or 0) for part in self.parts)
        return max(0, self.records) - sum(known) - max(0, self.after)


class Flow(NamedTuple):
    """Stages, each of which begins with what the one before lets go on."""

    unit: str
    stages: tuple[Stage, ...]
    end: Part
    """What comes to the end."""

    @property
    def whole(self) -> int:
        """All that is in it, and what is too much."""
        return max(0, self.stages[0].records) + sum(stage.surplus for stage in self.stages)

    @property
    def leaves(self) -> tuple[Part, ...]:
        """All that it comes to: the end first, then by stage, the last one first."""
        return (self.end, *(leaf for stage in reversed(self.stages) for leaf in stage.leaves))

    @property
    def wrong(self) -> int:
        """How far its sums are off."""
        lacks = (leaf.records or 0 for leaf in self.leaves if leaf.name == "missing")
        return sum(lacks) + sum(stage.surplus for stage in self.stages)


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


def flow_of_topic(topic: TopicLine) -> Flow:
    """Of one of several topics, as far as each has counts of its own."""
    start = Stage("offsets", topic.read + topic.gaps, (Part("gaps", topic.gaps),), topic.read)
    return Flow("offsets", (start, _read(topic)), Part("accepted", max(0, topic.accepted)))


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
    same = change.rows_before - change.removed - change.changed
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
    return Flow("offsets", (start, _read(account), taken), end)


def _read(account: Account | TopicLine) -> Stage:
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
    return "accepted"


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


def sums(flow: Flow) -> Iterable[str]:
    """Each stage's sum in words, as it is; of a later stage that something leaves, or enters."""
    onward = [*(stage.name for stage in flow.stages[1:]), flow.end.name]
    for stage, name in zip(flow.stages, onward, strict=True):
        known = [f"{part.records:,} {part.name}" for part in stage.leaves if part.records]
        if not known and not stage.surplus and stage is not flow.stages[0]:
            continue
        terms = " + ".join([*known, f"{max(0, stage.after):,} {name}"])
        more = f", {stage.surplus:,} more than there were" if stage.surplus else ""
        yield f"{stage.records:,} {stage.name} = {terms}{more}"
