"""The charts of a pipeline over time: of its runs and batches, oldest left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spark_jobs.ops.shown import BatchLine, PhaseLine, RunLine
from spark_jobs.pages.amounts import in_bytes, lag, number, share
from spark_jobs.pages.bars import LEAST_OF_SMALL, Bar, Chart, Point, chart, stacked

OUTCOMES = ("accepted", "duplicates", "late", "malformed", "premature", "filtered", "unaccounted")
"""Where records went, as they are stacked. `accepted` are those that were no duplicates."""


def account_bars(runs: Sequence[RunLine]) -> list[Bar]:
    """A bar a run, oldest left: what became of the records that it read."""
    stacks = [
        (run.run_id, f"{run.started_at:%F %H:%M} {run.run_id}", outcomes(run))
        for run in reversed(runs)
    ]
    return stacked(stacks)


def outcomes(run: RunLine) -> dict[str, int]:
    """Outcome -> records, without those that are not known. They add up to what was read, and the
    mismatches: duplicates that are not known are among the accepted.
    """
    rejected = {name: count for name in OUTCOMES[1:] if (count := getattr(run, name)) is not None}
    left = run.read - sum(count for name, count in rejected.items() if name != "unaccounted")
    return {"accepted": max(0, left)} | rejected


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
    return stacked(stacks, by_place=True)


def read_bars(runs: Sequence[RunLine]) -> list[Bar]:
    """A bar a run, oldest left: the records that it read."""
    points = [
        Point(each.run_id, each.run_id, each.read, f"{each.read:,} records, {each.rows_out:,} rows")
        for each in reversed(runs)
    ]
    return chart(points, None, "", str).bars


def rows_bars(runs: Sequence[RunLine]) -> list[Bar]:
    """A bar a run, oldest left: the rows in state at its end."""
    points = [
        Point(each.run_id, each.run_id, each.state_rows, f"{each.state_rows:,} rows in state")
        for each in reversed(runs)
        if each.state_rows is not None
    ]
    return chart(points, None, "", str).bars


def size_chart(batches: Sequence[BatchLine], budget: int | None) -> Chart:
    """A bar a batch, oldest left: the bytes of its state, and the budget."""
    points = [
        Point(each.run_id or "", f"batch {each.batch}", size, in_bytes(size))
        for each in reversed(batches)
        if (size := each.state_bytes) is not None
    ]
    return chart(points, budget, "" if budget is None else in_bytes(budget), in_bytes)


def lag_chart(runs: Sequence[RunLine]) -> Chart:
    """A bar a run, oldest left: how far the watermark was behind the clock at its end."""
    points = [
        Point(each.run_id, f"{each.started_at:%F %H:%M} {each.run_id}", behind, lag(behind))
        for each in reversed(runs)
        if each.watermark is not None
        and (behind := max(0.0, (each.ended_at - each.watermark).total_seconds())) is not None
    ]
    return chart(points, None, "", lag)


def late_chart(runs: Sequence[RunLine], most: float | None) -> Chart:
    """A bar a run, oldest left: late records as a share of the decoded ones; the check's bound."""
    points = [
        Point(each.run_id, f"{each.started_at:%F %H:%M} {each.run_id}", late, share(late))
        for each in reversed(runs)
        if (late := late_share(each)) is not None
    ]
    return chart(points, most, "" if most is None else share(most), share)


def late_share(run: RunLine) -> float | None:
    """Late records as a share of the decoded ones; None if there are none."""
    decoded = run.read - run.malformed
    return run.late / decoded if decoded > 0 else None


def phase_bars(runs: Sequence[PhaseLine]) -> list[Bar]:
    """A bar a run, oldest left: the seconds of each phase."""
    names = phases(runs)
    stacks = [
        (
            run.run_id,
            f"{run.started_at:%F %H:%M} {run.run_id}",
            {name: run.seconds.get(name, 0) for name in names},
        )
        for run in reversed(runs)
    ]
    return stacked(stacks, by_place=True, unit=" s of ")


def phases(runs: Iterable[PhaseLine]) -> list[str]:
    """The phases of these runs, in the order in which they were first met."""
    return list(dict.fromkeys(name for run in runs for name in run.seconds))


def check_chart(points: Sequence[Point], bound: float | None) -> Chart:
    """A bar a run, oldest left: what a check observed, and the bound that it has today."""
    return chart(points, bound, "" if bound is None else number(bound), number, LEAST_OF_SMALL)
