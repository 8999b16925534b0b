"""Ranges due: those that a repair would compute now, and how many late records wait for it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field as Described

from spark_jobs.analysis.ranged import ranged
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.messages.part import Part
from spark_jobs.repair.find.late_spans import LateSpans

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths
    from spark_jobs.spec import Pipeline


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
    late = LateSpans(way, paths, identity.generations, audited)
    return Touched(
        ranges=tuple(
            TouchedRange(start=each.span.start, end=each.span.end, late=each.records)
            for each in late.ranges(until)
        ),
        too_early=late.too_early(until),
    )
