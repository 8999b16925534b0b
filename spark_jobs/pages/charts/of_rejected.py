"""The chart of rejected records: a point a day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice

from spark_jobs.ops.json_of_tables import OTHERS, Bucket
from spark_jobs.pages.charts.chart import Chart, Series

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
