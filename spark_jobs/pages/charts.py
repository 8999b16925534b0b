"""The charts of runs, of their batches and checks, of rejected records by day, and of state."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Literal, NamedTuple

from spark_jobs.messages.state_answer import Expiry, KeySizes, StepAnswer
from spark_jobs.ops.json_of_tables import (
    OTHERS,
    BatchLine,
    Bucket,
    CheckLine,
    PhaseLine,
    RunLine,
    StepUse,
)
from spark_jobs.pages.chart import Bound, Chart, Form, Series, Unit, in_bytes

OUTCOMES = ("accepted", "duplicates", "late", "malformed", "premature", "filtered", "unaccounted")
"""Where records went, as they are stacked. `accepted` are those that were no duplicates."""


def accounts(runs: Sequence[RunLine]) -> Chart:
    """What became of the records that each run read."""
    parts = [outcomes(run) for run in reversed(runs)]
    series = [Series(name, [each.get(name) for each in parts], name) for name in OUTCOMES]
    return _of(runs, "Where did the records of each run go?", "records", "stacked", series)


def outcomes(run: RunLine) -> dict[str, int]:
    """Outcome -> records, without those that are not known. They add up to what was read, and the
    mismatches: duplicates that are not known are among the accepted.
    """
    rejected = {name: count for name in OUTCOMES[1:] if (count := getattr(run, name)) is not None}
    left = run.read - sum(count for name, count in rejected.items() if name != "unaccounted")
    return {"accepted": max(0, left)} | rejected


def lags(runs: Sequence[RunLine]) -> Chart:
    """How far the watermark was behind the clock at the end of each run."""
    values = [
        None if run.watermark is None else max(0.0, (run.ended_at - run.watermark).total_seconds())
        for run in reversed(runs)
    ]
    series = [Series("behind the clock", values, "part0")]
    return _of(runs, "How far behind was the watermark?", "seconds", "line", series)


def late_shares(runs: Sequence[RunLine], most: float | None) -> Chart:
    """Late records as a share of the decoded ones; the check's bound."""
    series = [Series("late", [late_share(run) for run in reversed(runs)], "late")]
    bounds = [] if most is None else [Bound("check", most)]
    return _of(runs, "What share of the records was late?", "share", "bars", series, bounds)


def late_share(run: RunLine) -> float | None:
    """Late records as a share of the decoded ones; None if there are none."""
    decoded = run.read - run.malformed
    return run.late / decoded if decoded > 0 else None


def by_phase(runs: Sequence[PhaseLine]) -> Chart:
    """The seconds of each phase."""
    names = dict.fromkeys(name for run in runs for name in run.seconds)
    series = [
        Series(name, [run.seconds.get(name) for run in reversed(runs)], f"part{place % 6}")
        for place, name in enumerate(names)
    ]
    return _of(runs, "Where did the time go?", "seconds", "stacked", series)


def _of(
    runs: Sequence[RunLine | PhaseLine],
    title: str,
    unit: Unit,
    form: Form,
    series: Sequence[Series],
    bounds: Sequence[Bound] = (),
) -> Chart:
    ids = [run.run_id for run in reversed(runs)]
    x = [run.started_at.timestamp() for run in reversed(runs)]
    return Chart(title, unit, form, x, ids, ids, series, bounds)


FAR = 20
"""Times the highest value."""
FAR_ABOVE = " The budget is far above."


def rows_in_state(batches: Sequence[BatchLine], budget: int | None) -> Chart:
    """The rows in the state of each step, newest batch first, and the budget of all."""
    return _of_batches(
        batches, "rows", lambda use: use.rows, lambda batch: batch.state_rows, budget
    )


def bytes_of_state(batches: Sequence[BatchLine], budget: int | None) -> Chart:
    """Their bytes likewise."""
    return _of_batches(batches, "bytes", stored_bytes, lambda batch: batch.state_bytes, budget)


def stored_bytes(use: StepUse) -> int | None:
    """Memory and files of a step; None if neither is known."""
    if use.memory is None and use.files is None:
        return None
    return (use.memory or 0) + (use.files or 0)


def _of_batches(
    batches: Sequence[BatchLine],
    unit: Literal["rows", "bytes"],
    of_step: Callable[[StepUse], int | None],
    of_all: Callable[[BatchLine], int | None],
    budget: int | None,
) -> Chart:
    known = [each for each in reversed(batches) if each.audited_at is not None]
    steps = {use.step: use.kind for batch in known for use in batch.steps}
    by_step = [{use.step: of_step(use) for use in batch.steps} for batch in known]
    series = [
        Series(f"step {step} ({kind})", [each.get(step) for each in by_step], f"part{place % 6}")
        for place, (step, kind) in enumerate(sorted(steps.items()))
    ] or [Series("state", [of_all(batch) for batch in known], "part0")]
    most = max((of_all(batch) or 0 for batch in known), default=0)
    # Below a line that is so much higher, all of it would be a line on the ground.
    far = budget is not None and budget > FAR * most
    return Chart(
        f"How many {unit} does it remember?" + (FAR_ABOVE if far else ""),
        unit,
        "stacked",
        [each.audited_at.timestamp() for each in known if each.audited_at],
        [f"batch {each.batch}" for each in known],
        [each.run_id for each in known],
        series,
        [] if far or budget is None else [Bound("budget", budget)],
    )


THIS = "this run"


def of_check(check: CheckLine) -> Chart:
    """What a check observed in this run and before: numbers, or else the failing rows. The times of
    the runs before are not known here: points stand in their order.
    """
    runs = [*reversed(check.runs)]
    before = [*map(_observed, reversed(check.history))]
    now = _observed(check.result.observed)
    bounds = list[Bound]()
    if now is None:
        values: list[float | None] = [*reversed(check.unexpected), check.result.unexpected]
        series = Series("failing rows", values, "over")
    else:
        series = Series("observed", [*before, now], "part0")
        bounds = [] if check.bound is None else [Bound("bound", check.bound)]
    x = [float(place) for place in range(len(runs) + 1)]
    return Chart(
        check.result.name, "number", "bars", x, [*runs, THIS], [*runs, None], [series], bounds
    )


def _observed(observed: str) -> float | None:
    try:
        found = float(observed)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


MOST_REASONS = 5


def by_day(days: Sequence[Bucket]) -> Chart:
    """By day and reason, the most frequent reason at the bottom. Reasons beyond the five most
    frequent are one part. A Kafka timestamp that is no time has no day, and no point.
    """
    totals, found = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for each in days:
        totals[each.reason] += each.records
    commonest = (reason for reason, _ in totals.most_common() if reason != OTHERS)
    named = [*islice(commonest, MOST_REASONS)]
    reasons = [*named, OTHERS] if len(totals) > len(named) else named
    for each in days:
        if each.day:
            found[each.day][each.reason if each.reason in named else OTHERS] += each.records
    order = sorted(found)
    series = [
        Series(reason, [found[day][reason] for day in order], f"part{place}")
        for place, reason in enumerate(reasons)
    ]
    x = [datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() for day in order]
    nowhere = [None] * len(order)
    return Chart("How many, by day and reason?", "records", "stacked", x, order, nowhere, series)


HOUR: Final = 3600
WIDTHS: Final = ((48, 1), (60 * 24, 24))
"""Up to so many hours, bars of so many: as the answer has them (state/measures.py)."""
WIDEST: Final = 30 * 24
LAST: Final = datetime.max.replace(tzinfo=UTC).timestamp()
WIDTH: Final = 900
"""Of a row's bar, in units of its SVG."""
LEAST: Final = 3.0

A_KEY: Final = {
    "deduplicate": "A key is one row: long values alone make it large.",
    "aggregate": "A key is a group without its window: a row for each window that is open.",
    "group_state": "A key has the rows of all its variables, and its timers.",
}
A_BUCKET: Final = "Spark stores many keys as one row, their bucket: sizes are of buckets."
A_KEY_IN_BUCKETS: Final = A_KEY | {"group_state": A_BUCKET}
"""Where the answer's keys are called buckets: others have a column of that name."""


class SizeBar(NamedTuple):
    """Keys of about one size."""

    size: str
    keys: int
    width: float


def expiry_chart(step: int, expiry: Sequence[Expiry]) -> Chart | None:
    """When the rows of a step expire, from what was known when it was read, a bar an hour, a day or
    30 days; those that are due first. None if none of them has such a time.
    """
    timed = [each for each in expiry if each.spans and each.since is not None]
    since = min((each.since for each in timed if each.since), default=None)
    if since is None:
        return None
    last = max(each.spans[-1].hours for each in timed)
    wide = next((width for most, width in WIDTHS if last <= most), WIDEST)
    ends = [*range(0, math.ceil(last / wide) * wide + 1, wide)]
    x = [since.timestamp() + HOUR * hours for hours in ends]
    fits = sum(at <= LAST for at in x)
    series = [
        Series(
            each.variable or each.counted,
            [_by_bar(each, wide)[hours] for hours in ends[:fits]],
            f"part{place % 6}",
        )
        for place, each in enumerate(timed)
    ]
    names = ["due", *(f"within {hours:,} h" for hours in ends[1:])][:fits]
    return Chart(
        f"When do rows of step {step} expire?",
        "rows",
        "stacked",
        x[:fits],
        names,
        [None] * fits,
        series,
    )


def a_key(step: StepAnswer) -> str:
    """What a key of the step is, and so its size; empty where an answer does not tell."""
    in_buckets = step.sizes is not None and step.sizes.columns == ("bucket",)
    return (A_KEY_IN_BUCKETS if in_buckets else A_KEY).get(step.kind, "")


def size_bars(sizes: KeySizes) -> list[SizeBar]:
    """A bar for each power of two between the least and the largest key."""
    if not sizes.powers:
        return []
    keys = {each.power: each.keys for each in sizes.powers}
    most = max(keys.values())
    return [
        SizeBar(
            f"{in_bytes(2**power)} to {in_bytes(2 ** (power + 1))}",
            count,
            round(max(WIDTH * count / most, LEAST), 2) if count else 0,
        )
        for power in range(min(keys), max(keys) + 1)
        for count in (keys.get(power, 0),)
    ]


def _by_bar(expiry: Expiry, wide: int) -> Counter[int]:
    rows = Counter[int]()
    for each in expiry.spans:
        rows[math.ceil(each.hours / wide) * wide] += each.rows
    return rows
