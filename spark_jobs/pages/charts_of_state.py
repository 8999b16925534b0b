"""The charts of what a step remembers: of its expiry over event time, and of its keys by size."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from spark_jobs.messages.state_answer import Expiry, KeySizes, StepAnswer
from spark_jobs.pages.chart import Chart, Series, in_bytes

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
