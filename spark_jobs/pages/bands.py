"""Bands: the geometry of a flow, in units of its SVG. Widths are in proportion to what flows.

The picture is stretched to its labels, sideways and upright by different amounts. So all that has a
width runs sideways, and only heights are compared.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from spark_jobs.pages.flow import Flow, Part

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
