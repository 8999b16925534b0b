"""Bars: the geometry of the charts, in units of their SVG. The table below each has the figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from spark_jobs.contract.duration import approximate
from spark_jobs.contract.report import Account
from spark_jobs.ops.shown import BatchLine, Bucket, PhaseLine, RunLine

WIDTH, HEIGHT = 900, 160
Unit = Callable[[float], str]
"""A value -> as text, with its unit."""
OUTCOMES = ("accepted", "duplicates", "late", "malformed", "premature", "filtered", "unaccounted")
"""Where records went, as they are stacked. `accepted` are those that were no duplicates."""
LEAST = 1.5
"""The height of a part that would be lower: one record of a million is seen too."""
MOST_REASONS, OTHERS = 5, "other reasons"
LEAST_OF_SMALL = 8
"""The same in the cell of a table, which is a sixth as high."""


class Bar(NamedTuple):
    """One rectangle. `kind` is its class in the style sheet, `run_id` the run it leads to."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str
    run_id: str


class Chart(NamedTuple):
    """Bars, what the highest stands for, and a bound as a line, which may be above them all."""

    bars: list[Bar]
    most: str = ""
    """The highest value, with its unit."""
    limit: float | None = None
    """The height of the bound, from above; None without one."""
    bound: str = ""
    """The bound, with its unit."""


class Point(NamedTuple):
    """One bar of a chart with one value each."""

    run_id: str
    label: str
    value: float
    text: str
    """The value, with its unit."""


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
        Point(each.run_id, f"{each.started_at:%F %H:%M} {each.run_id}", lag, _lag(lag))
        for each in reversed(runs)
        if each.watermark is not None
        and (lag := max(0.0, (each.ended_at - each.watermark).total_seconds())) is not None
    ]
    return chart(points, None, "", _lag)


def late_chart(runs: Sequence[RunLine], most: float | None) -> Chart:
    """A bar a run, oldest left: late records as a share of the decoded ones; the check's bound."""
    points = [
        Point(each.run_id, f"{each.started_at:%F %H:%M} {each.run_id}", share, _share(share))
        for each in reversed(runs)
        if (share := late_share(each)) is not None
    ]
    return chart(points, most, "" if most is None else _share(most), _share)


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
    return _stacked(stacks, by_place=True, unit=" s of ")


class DayChart(NamedTuple):
    """Rejected records by day and reason."""

    reasons: list[str]
    """As they are stacked, the most frequent at the bottom."""
    bars: list[Bar]


def day_chart(days: Sequence[Bucket]) -> DayChart:
    """A bar a day with records, oldest left. Reasons beyond the five most frequent are one part."""
    totals, by_day = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for each in days:
        totals[each.reason] += each.records
    named = [reason for reason, _ in totals.most_common(MOST_REASONS)]
    reasons = [*named, OTHERS] if len(totals) > MOST_REASONS else named
    for each in days:
        by_day[each.day][each.reason if each.reason in named else OTHERS] += each.records
    stacks = [("", day, {name: by_day[day][name] for name in reasons}) for day in sorted(by_day)]
    return DayChart(reasons, _stacked(stacks, by_place=True))


def phases(runs: Iterable[PhaseLine]) -> list[str]:
    """The phases of these runs, in the order in which they were first met."""
    return list(dict.fromkeys(name for run in runs for name in run.seconds))


def check_chart(points: Sequence[Point], bound: float | None) -> Chart:
    """A bar a run, oldest left: what a check observed, and the bound that it has today."""
    return chart(points, bound, "" if bound is None else number(bound), number, LEAST_OF_SMALL)


def chart(
    points: Sequence[Point],
    bound: float | None,
    told: str,
    unit: Unit,
    least: float = LEAST,
) -> Chart:
    """A bar a point, left to right, each at least so high unless it is 0. The bound is in the chart
    too, if it is given.
    """
    highest = max((each.value for each in points), default=0)
    most = max(highest, bound or 0)
    if not points or most <= 0:
        return Chart([])
    bars = []
    for place, each in enumerate(points):
        x, width = _column(place, len(points))
        height = round(max(HEIGHT * each.value / most, least), 2) if each.value > 0 else 0.0
        over = bound is not None and each.value > bound
        title = f"{each.label}: {each.text}"
        if height:
            kind = "over" if over else "part0"
            bars.append(Bar(x, round(HEIGHT - height, 2), width, height, kind, title, each.run_id))
    limit = None if bound is None else round(HEIGHT - HEIGHT * bound / most, 2)
    return Chart(bars, unit(highest), limit, told)


def outcomes(run: RunLine) -> dict[str, int]:
    """Outcome -> records. They add up to what was read, and the mismatches."""
    rejected = {name: getattr(run, name) or 0 for name in OUTCOMES[1:]}
    left = run.read - sum(rejected[name] for name in OUTCOMES[1:-1])
    return {"accepted": max(0, left)} | rejected


def late_share(run: RunLine) -> float | None:
    """Late records as a share of the decoded ones; None if there are none."""
    decoded = run.read - run.malformed
    return run.late / decoded if decoded > 0 else None


class Step(NamedTuple):
    """One line of the account, as a bar between two places of a line of WIDTH."""

    name: str
    records: int
    x: float
    width: float
    kind: str


def flow(account: Account) -> list[Step]:
    """From offsets to rows: what is left at each stage, and what went where in between.

    A stage begins at the left; what leaves it is at the right, where the next stage ends.
    """
    whole = max(account.covered, account.rows_out, 1)
    leaves = {
        "covered": ("gaps", "unknown"),
        "read": ("malformed", "premature", "filtered", "late"),
        "accepted": ("duplicates",),
    }
    steps = []
    for stage, losses in leaves.items():
        at = getattr(account, stage)
        steps.append(_step(stage, at, 0, whole, "stage"))
        for name in losses:
            if count := getattr(account, name):
                at -= count
                steps.append(_step(name, count, max(at, 0), whole, name))
    steps.append(_step("rows_out", account.rows_out, 0, whole, "stage"))
    steps.append(_step("unaccounted", account.unaccounted, 0, whole, "unaccounted"))
    return steps


def number(value: float) -> str:
    """A number of which nothing is known, without digits that say nothing.

    >>> number(0.05), number(2**30), number(3.0), number(1234.5678)
    ('0.05', '1,073,741,824', '3', '1,234.57')
    """
    return f"{int(value):,}" if value == int(value) else f"{value:,.6g}"


def in_bytes(value: float) -> str:
    """A size with its unit.

    >>> in_bytes(500), in_bytes(1_500_000), in_bytes(2**30)
    ('500 B', '1.4 MiB', '1.0 GiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:  # noqa: PLR2004 - of binary units
            return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} GiB"


def _step(name: str, count: int, start: int, whole: int, kind: str) -> Step:
    width = WIDTH * min(count, whole) / whole
    return Step(
        name,
        count,
        round(WIDTH * start / whole, 2),
        round(max(width, LEAST * (count > 0)), 2),
        kind,
    )


def _lag(seconds: float) -> str:
    return approximate(timedelta(seconds=seconds)) if seconds >= 1 else "under a second"


def _share(value: float) -> str:
    return f"{100 * value:,.2f} %"


def _column(place: int, of: int) -> tuple[float, float]:
    """The left edge and the width of a column."""
    step = WIDTH / of
    return round(place * step, 2), round(max(step - 1, 0.5), 2)


def _stacked(
    stacks: Sequence[tuple[str, str, dict[str, int] | dict[str, float]]],
    *,
    by_place: bool = False,
    unit: str = " ",
) -> list[Bar]:
    """`by_place`: the style's class is the part's place in the stack, and not its name."""
    most = max((sum(parts.values()) for _, _, parts in stacks), default=0)
    if not most:
        return []
    bars = []
    for place, (run_id, label, parts) in enumerate(stacks):
        top = float(HEIGHT)
        x, width = _column(place, len(stacks))
        for part, (name, count) in enumerate(parts.items()):
            height = HEIGHT * count / most
            if count:
                height = max(height, LEAST)
            top -= height
            kind = f"part{part % 6}" if by_place else name
            title = f"{label}: {count:,}{unit}{name}"
            if count:
                bars.append(Bar(x, round(top, 2), width, round(height, 2), kind, title, run_id))
    return bars
