"""State: how many rows the state would have had at its largest, estimated from what it had."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from spark_jobs.values.spans import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step


def largest(rows: Iterable[Row]) -> dict[int, int]:
    """Step -> the most rows of state that a batch has left, of accounts with `operators`."""
    found = defaultdict[int, int](int)
    for row in rows:
        of_batch = Counter[int]()
        for each in row["operators"] or ():
            of_batch[each["step"]] += each["numRowsTotal"] or 0
        for step, count in of_batch.items():
            found[step] = max(found[step], count)
    return found


def estimated(
    spec: Pipeline, now: Mapping[int, int], delay: timedelta, seen: timedelta, entered: int
) -> int | None:
    """With this delay, if keys come evenly: as many more as a row stays longer, but no longer than
    event times were `seen`, and no more than the records that `entered` can make. None where a step
    does not say how long a row stays.
    """
    total = 0.0
    for index, rows in now.items():
        step = spec.steps[index]
        if step.evicted_by == "nothing":
            total += rows
            continue
        then, before = _stays(step, delay), _stays(step, spec.watermark_delay or timedelta())
        if then is None or not before:
            return None
        most = max(rows, entered * step.rows_per_record)
        total += min(most, rows * min(then, max(seen, before)) / before)
    return round(total)


def _stays(step: Step, delay: timedelta) -> timedelta | None:
    """How far the newest event time goes on while a row stays."""
    if step.balance.drops_duplicates:
        copies = step.copies_for(delay)
        return None if copies is None else delay + copies
    window = step.grouping_window
    if step.by_code or window is None or (end := window.last_end(EPOCH)) is None:
        return None
    return delay + (end - EPOCH)
