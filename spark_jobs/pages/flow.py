"""A flow: where offsets, records or rows went, stage by stage, as sums that must hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

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
    "outside": "no row of the ranges needs them",
    "kept aside": "in ops.quarantine or ops.late, and not used",
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
ENDS = ("accepted", "each once", "accepted, copies among them", "computed from")
KIND = {
    **dict.fromkeys(ENDS, "accepted"),
    "in rows": "accepted",
    "kept aside": "outside",
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
    """Stages: each begins with what the one before lets go on."""

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
