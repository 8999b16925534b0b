"""A flow: where offsets, records or rows went, stage by stage, as sums that must hold; and its
geometry, in units of its SVG.

The widths of bands are in proportion to what flows. The picture is stretched to its labels,
sideways and upright by different amounts. So all that has a width runs sideways, and only heights
are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
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


WIDTH = 900
UNIT = 20
"""The height of a label."""
THICK = 6 * UNIT
"""Height of all that flows."""
LEAST = 1.0
"""Height of a band that would be thinner: one record of a million is seen too."""
PAD = 4
NODE, MARGIN = 10, 40


class Band(NamedTuple):
    """What flows from one place to another."""

    path: str
    kind: str
    height: float


class Node(NamedTuple):
    """A stage, as an upright bar."""

    x: float
    y: float
    height: float
    kind: str


class Label(NamedTuple):
    """A leaf beside the end of its band, from top to bottom."""

    part: Part
    high: int
    """Its height, in labels."""
    height: float
    """Its band's height; 0 without one."""
    widened: bool
    """Whether the band is higher than its share."""


class Drawing(NamedTuple):
    """All of it."""

    height: int
    nodes: list[Node]
    bands: list[Band]
    labels: list[Label]


def drawing(flow: Flow) -> Drawing:
    """Of a flow that is not empty. The trunk is above; what leaves it first is at the bottom."""
    whole = flow.whole
    labels = [_label(part, whole) for part in flow.leaves]
    tops, at = list[float](), 0
    for label in labels:
        tops.append(at * UNIT + PAD / 2)
        at += label.high
    nodes, bands = list[Node](), list[Band]()
    step = (WIDTH - MARGIN) / len(flow.stages)
    onward, place, next_x = labels[0].height, 1, float(WIDTH)
    for number in reversed(range(len(flow.stages))):
        stage = flow.stages[number]
        x = MARGIN + number * step
        out = x + NODE
        kind = flow.end.kind if number == len(flow.stages) - 1 else "trunk"
        y = PAD / 2
        if onward:
            bands.append(Band(_straight(out, next_x, y, onward), kind, onward))
        y += onward
        for _ in stage.leaves:
            label = labels[place]
            if label.height:
                path = _bent(out, x + step, y, tops[place], label.height)
                bands.append(Band(path, label.part.kind, label.height))
            y += label.height
            place += 1
        height = y - PAD / 2
        nodes.append(Node(x, PAD / 2, height, "stage"))
        surplus = _height(stage.surplus, whole)
        if surplus:
            bands.append(
                Band(_straight(x - MARGIN / 2, x, y - surplus, surplus), "surplus", surplus)
            )
        onward, next_x = round(max(0.0, height - surplus), 6), x
    return Drawing(at * UNIT, nodes, bands, labels)


def _label(part: Part, whole: int) -> Label:
    height = _height(part.records or 0, whole)
    exact = THICK * (part.records or 0) / whole
    return Label(part, max(1, ceil((height + PAD) / UNIT)), height, 0 < exact < height)


def _height(records: int, whole: int) -> float:
    return max(THICK * records / whole, LEAST) if records > 0 else 0.0


def _straight(x: float, to: float, y: float, height: float) -> str:
    return f"M{x:g} {y:.2f}H{to:g}v{height:.2f}H{x:g}z"


def _bent(x: float, bend: float, y: float, to: float, height: float) -> str:
    half = (x + bend) / 2
    return (
        f"M{x:g} {y:.2f}C{half:g} {y:.2f} {half:g} {to:.2f} {bend:g} {to:.2f}H{WIDTH}"
        f"v{height:.2f}H{bend:g}C{half:g} {to + height:.2f} {half:g} {y + height:.2f} {x:g} "
        f"{y + height:.2f}z"
    )
