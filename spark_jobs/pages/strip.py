"""Strip: the coverage of a pipeline as segments of a line, and what a person does about each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from spark_jobs.repair.find.coverage import Coverage, Interval
from spark_jobs.values.times import iso

WIDTH = 900
"""Of a line, in units of its SVG."""
KINDS = {"late": "repair", "outdated": "repair", "replayable": "replay"}
"""State -> the kind of repair that has something to do for it."""


class Segment(NamedTuple):
    """Neighbouring intervals that are alike."""

    place: int
    """From 1, for the links between strip and table."""
    x: float
    width: float
    start: datetime
    end: datetime
    state: str
    late: int
    """Late records that wait; one that touches several intervals is counted in each."""
    intervals: int
    last: Interval
    """Its newest interval, for what last computed its rows."""

    @property
    def repairable(self) -> bool:
        return self.state in KINDS

    @property
    def kind(self) -> str:
        """The kind of repair that does something about it."""
        return KINDS.get(self.state, "repair")


def segments(covered: Coverage) -> list[Segment]:
    """Oldest first. Each interval for which records wait is one of its own."""
    groups = [list(group) for _, group in groupby(covered.intervals, key=_alike)]
    return _placed(groups, len(covered.intervals))


def text(at: datetime) -> str:
    """A time as the form of the backfill DAG takes it.

    >>> from datetime import UTC
    >>> text(datetime(2026, 3, 1, tzinfo=UTC))
    '2026-03-01T00:00:00Z'
    """
    return f"{iso(at, unit='seconds')}Z"


def _placed(groups: Sequence[Sequence[Interval]], of: int) -> list[Segment]:
    found, at = [], 0
    for place, group in enumerate(groups, 1):
        found.append(
            Segment(
                place,
                round(WIDTH * at / of, 2),
                round(max(WIDTH * len(group) / of - 0.5, 0.5), 2),
                group[0].start,
                group[-1].end,
                group[0].state,
                sum(each.late for each in group),
                len(group),
                group[-1],
            )
        )
        at += len(group)
    return found


def _alike(each: Interval) -> tuple[object, ...]:
    waits = each.start if each.state in KINDS else None
    proof = (each.proved_at, each.refuted_at, each.provable_until, each.untold)
    return (each.state, each.repair_id, waits, *proof)
