"""Bars: the geometry of the charts, in units of their SVG. The table below each has the figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spark_jobs.ops.shown import BatchLine, RunLine

WIDTH, HEIGHT = 900, 160
OUTCOMES = ("accepted", "duplicates", "late", "malformed", "premature", "unaccounted")
"""Where records went, as they are stacked. `accepted` are those that were no duplicates."""


class Bar(NamedTuple):
    """One rectangle. `kind` is its class in the style sheet, `run_id` the run it leads to."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str
    run_id: str


def account_bars(runs: Sequence[RunLine]) -> list[Bar]:
    """A bar a run, oldest left: what became of the records that it read."""
    stacks = [
        (run.run_id, f"{run.started_at:%F %H:%M} {run.run_id}", outcomes(run))
        for run in reversed(runs)
    ]
    return _stacked(stacks)


def state_bars(batches: Sequence[BatchLine]) -> list[Bar]:
    """A bar a batch, oldest left: the state rows of each step."""
    stacks = [
        (
            batch.run_id or "",
            f"batch {batch.batch}",
            {f"step {use.step} ({use.kind})": use.rows or 0 for use in batch.steps}
            or {"state": batch.state_rows or 0},
        )
        for batch in reversed(batches)
    ]
    return _stacked(stacks, by_place=True)


def outcomes(run: RunLine) -> dict[str, int]:
    """Outcome -> records. They add up to what was read, and the mismatches.

    What a condition filtered is `accepted` here: ops.runs has no column of it.
    """
    rejected = {name: getattr(run, name) for name in OUTCOMES[1:]}
    left = run.read - sum(rejected[name] for name in OUTCOMES[1:-1])
    return {"accepted": max(0, left)} | rejected


def _stacked(stacks: list[tuple[str, str, dict[str, int]]], *, by_place: bool = False) -> list[Bar]:
    """`by_place`: the style's class is the part's place in the stack, and not its name."""
    most = max((sum(parts.values()) for _, _, parts in stacks), default=0)
    if not most:
        return []
    step = WIDTH / len(stacks)
    bars = []
    for place, (run_id, label, parts) in enumerate(stacks):
        top = float(HEIGHT)
        for part, (name, count) in enumerate(parts.items()):
            height = HEIGHT * count / most
            if count:
                # One record of a million is seen too.
                height = max(height, 1.5)
            top -= height
            kind = f"part{part % 6}" if by_place else name
            title = f"{label}: {count:,} {name}"
            if count:
                width = round(max(step - 1, 0.5), 2)
                bars.append(
                    Bar(
                        round(place * step, 2),
                        round(top, 2),
                        width,
                        round(height, 2),
                        kind,
                        title,
                        run_id,
                    )
                )
    return bars
