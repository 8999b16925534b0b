"""The chart of rejected records, a bar a day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from spark_jobs.ops.shown import Bucket
from spark_jobs.pages.bars import Bar, stacked

MOST_REASONS, OTHERS = 5, "other reasons"


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
    return DayChart(reasons, stacked(stacks, by_place=True))
