"""Touched: the ranges that a repair would compute now, and how many late records wait for it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field as Described

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.part import Part
from spark_jobs.contract.ranged import ranged
from spark_jobs.contract.span import joined
from spark_jobs.repair.late import waiting

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths
    from spark_jobs.contract.spec import Pipeline


class TouchedRange(Part):
    """One range that a repair would compute."""

    start: datetime = Described(description="its first position")
    end: datetime = Described(description="the first position behind it")
    late: int = Described(description="late records that touch a row of it")


class Touched(Part):
    """What a repair without a range would do now, as the planner finds it."""

    ranges: tuple[TouchedRange, ...] = Described(description="oldest first")
    too_early: int = Described(
        description="late records that touch rows which drains still write: no repair takes them"
    )


def touched(spec: Pipeline, paths: Paths) -> Touched:
    """Nothing before the first batch. Raises RangeUnsupported, CheckpointBroken."""
    way = ranged(spec)
    identity, audited = read_identity(paths), read_cursor(paths.cursor).audited
    if identity is None or audited < 0:
        return Touched(ranges=(), too_early=0)
    until = way.closed_until(Checkpoint(paths.checkpoint).batch(audited).watermark)
    spans = [
        way.touched(each.event_time, each.missed)
        for each in waiting(paths, identity.generations, audited)
    ]
    final = [each for each in spans if until is not None and each.end <= until]
    parts = joined(final)
    starts = [part.start for part in parts]
    # Each span that is not empty is within one part, which is the last that begins before it.
    late = Counter(bisect_right(starts, each.start) - 1 for each in final if not each.empty)
    return Touched(
        ranges=tuple(
            TouchedRange(start=part.start, end=part.end, late=late[place])
            for place, part in enumerate(parts)
        ),
        too_early=len(spans) - len(final),
    )
