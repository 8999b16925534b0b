"""Strip: the last drains of a pipeline in a row, newest right, with the gaps between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from spark_jobs.pages.overview.json_of_overview import Mark, Verdict

STEP: Final = 8
"""Units of the SVG from one mark to the next."""
GAP: Final = 2.5
"""How many times the usual time between two drains a gap is."""
WORDS: Final = {"good": "passed", "idle": "nothing new", "judged": "a check failed"}


class Spot(NamedTuple):
    """One place in the strip: a drain, or a gap without a run."""

    x: int
    kind: Verdict | None
    """None of a gap."""
    title: str
    run_id: str = ""


class Strip(NamedTuple):
    """All of them, and how wide they are."""

    spots: list[Spot]
    width: int


def strip(marks: Sequence[Mark]) -> Strip:
    """Of drains, newest first."""
    ordered = marks[::-1]
    begun = [mark.started_at for mark in ordered]
    times = [(later - one).total_seconds() for one, later in pairwise(begun)]
    usual = median(times) if times else 0.0
    spots = list[Spot]()
    for mark, passed in zip(ordered, [0.0, *times], strict=True):
        if usual and passed > GAP * usual:
            spots.append(Spot(STEP * len(spots), None, "no drain between"))
        spots.append(Spot(STEP * len(spots), mark.verdict, _title(mark), mark.run_id))
    return Strip(spots, STEP * len(spots))


def _title(mark: Mark) -> str:
    words = WORDS.get(mark.verdict) or mark.problem or "failed"
    read = f", {mark.read:,} records" if mark.read else ""
    return f"{mark.started_at:%F %H:%M} {words}{read}"
