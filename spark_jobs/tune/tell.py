"""Tell: each delay with its price, by the batches that were.

Accounts -> the batches, with what is known of their times -> bounds for each delay -> a table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.draft.disorder import around
from spark_jobs.errors import QuestionRefused
from spark_jobs.spec.analysis.late_rule import of_spec
from spark_jobs.spec.duration import approximate, interval
from spark_jobs.storage.root.paths import Paths
from spark_jobs.tune.batches import Timed, timed
from spark_jobs.tune.shares import Late, late, read, total, undecided
from spark_jobs.values.spans import EPOCH
from spark_jobs.where.again import Reader
from spark_jobs.where.kept import Known

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.again import Ask

COLUMNS = ("delay", "late", "share", "state rows", "a window is final")
"""Of the table."""
MINUTE = timedelta(minutes=1)
WEEKS = timedelta(days=14)
"""Of fewer days no weekday is told."""
UNEVEN = 2
"""How many times the share of all days a weekday has, if it is told."""


class Price(NamedTuple):
    """Of one delay."""

    delay: timedelta
    late: Late
    state_rows: int | None
    """About, unless it is the present delay."""
    weekday: tuple[str, Late] | None
    """That one which has far more of them."""


class Answer(NamedTuple):
    """What a tune tells."""

    present: timedelta
    between: timedelta | None
    """The time between two runs, for which the rows of a window wait too; None without windows."""
    prices: tuple[Price, ...]
    head: tuple[str, ...]
    """Lines before the table: on what it rests."""
    notes: tuple[str, ...]
    """Lines behind it: what is told beside, and what it cannot know."""


def told(
    spec: Pipeline,
    settings: Settings,
    delays: Sequence[timedelta] = (),
    since: datetime | None = None,
    ask: Ask | None = None,
) -> Answer:
    """The prices of these delays, or of those around the present one. With `ask`, which asks Spark,
    records are read where else only bounds are known.

    Raises QuestionRefused, and what reading a root and Kafka does; ask.Failed.
    """
    if (present := spec.watermark_delay) is None:
        raise QuestionRefused.no_delay(pipeline=spec.name)
    wanted = sorted({*(delays or around(present)), present})
    rules = {each: rule for each in wanted if (rule := of_spec(spec, each))}
    if len(rules) < len(wanted):
        raise QuestionRefused.clock_of_another(pipeline=spec.name)
    if (known := Known.read(Paths(settings.root, spec), spec)) is None:
        raise QuestionRefused.no_batches(pipeline=spec.name)
    batches = timed(spec, known, since)
    open_ = undecided(batches, rules.values())
    times, lost = read(Reader.of(spec, settings, known, ask), open_) if ask and open_ else ({}, "")
    by_day = defaultdict[str, list[Timed]](list)
    newest = [each.row["last_event_time"] for each in batches]
    for at, each in zip(newest, batches, strict=True):
        by_day[f"{at:%A}"].append(each)
    last, days = max(newest), max(newest) - min(newest)
    seen = last - min(each.row["first_event_time"] for each in batches)
    ends: dict[str, datetime] = {each.row["run_id"]: each.row["audited_at"] for each in batches}
    gaps = [later - one for one, later in pairwise(sorted(ends.values()))]
    entered, prices = sum(each.entered for each in batches), list[Price]()
    between = sorted(gaps)[len(gaps) // 2] if gaps else timedelta()
    waits = between if any(step.grouping_window for step in spec.steps) else None
    for delay, rule in rules.items():
        shares = {day: total(late(of, rule, times) for of in own) for day, own in by_day.items()}
        rows, all_ = _estimated(spec, batches, delay, seen, entered), total(shares.values())
        prices.append(Price(delay, all_, rows, _odd(all_, shares) if days >= WEEKS else None))
    head = [
        f"{spec.name}: {entered:,} records that entered, in {len(batches):,} batches over "
        f"{days / timedelta(days=1):,.1f} days of event time to {last:%F %H:%M}"
    ]
    if gaps:
        head.append(f"half of the runs come within {approximate(between)} of the one before")
    odd_ones = ((each.delay, *each.weekday) for each in prices if each.weekday)
    odd = (f"with {interval(delay)}: {_share(of_day)} on {day}s" for delay, day, of_day in odd_ones)
    notes = _notes(spec, batches, lost, bounds=bool(open_) and ask is None)
    return Answer(present, waits, (*prices,), (*head,), (*odd, *notes))


def _estimated(
    spec: Pipeline, batches: Sequence[Timed], delay: timedelta, seen: timedelta, entered: int
) -> int | None:
    """With this delay, if keys come evenly: as many more as a row stays longer, but no longer than
    event times were `seen`, and no more than the records that `entered` can make. None where a step
    does not say how long a row stays, or no batch of these steps tells.
    """
    largest, stateful = dict[int, int](), {n for n, of in enumerate(spec.steps) if of.stateful}
    for batch in batches:
        left = {of["step"]: of["numRowsTotal"] or 0 for of in batch.row["operators"] or ()}
        if left.keys() <= stateful:
            largest |= {n: max(rows, largest.get(n, 0)) for n, rows in left.items()}
    total = 0.0
    for index, rows in largest.items():
        step = spec.steps[index]
        if step.evicted_by == "nothing":
            total += rows
            continue
        then, before = _stays(step, delay), _stays(step, spec.watermark_delay or timedelta())
        if then is None or not before:
            return None
        most = max(rows, entered * step.rows_per_record)
        total += min(most, rows * min(then, max(seen, before)) / before)
    return round(total) if largest else None


def _stays(step: Step, delay: timedelta) -> timedelta | None:
    """How far the newest event time goes on while a row stays."""
    if step.balance.drops_duplicates:
        copies = step.copies_for(delay)
        return None if copies is None else delay + copies
    window = step.grouping_window
    if step.by_code or window is None or (end := window.last_end(EPOCH)) is None:
        return None
    return delay + (end - EPOCH)


def _odd(all_: Late, by_day: Mapping[str, Late]) -> tuple[str, Late] | None:
    """The weekday that has far more late records for certain."""
    day, most = max(by_day.items(), key=lambda each: each[1].shares[0])
    far = most.least and most.shares[0] >= UNEVEN * all_.shares[1]
    return (day, most) if far else None


def _notes(spec: Pipeline, batches: Sequence[Timed], lost: str, *, bounds: bool) -> Iterator[str]:
    was_late = sum(batch.row["late"] for batch in batches)
    yield f"As the runs had it, {was_late:,} of these records were late."
    if lost:
        yield f"{lost}."
    if bounds:
        yield "Where two numbers stand, they are bounds: --exact reads the records between."
    yield "Late is what the first step with state drops, as if the delay had always been in force."
    yield "State of another delay is an estimate: as if keys came evenly. It is the largest so far."
    if spec.is_several or spec.close_after is not None:
        why = "of several topics" if spec.is_several else "with close_after"
        yield f"The watermark {why} is taken as it was: right if the delay has not changed since."
    if any(len(batch.late) < batch.row["late"] for batch in batches):
        yield "Some late records are no longer kept: those batches have wider bounds."


def cells(answer: Answer) -> Iterator[tuple[str, ...]]:
    """The rows of the table, with COLUMNS."""
    for delay, late_ones, rows, _ in answer.prices:
        own = delay == answer.present
        counts = _range(*(f"{count:,}" for count in late_ones[:2]))
        held = "not known" if rows is None else f"{'' if own else 'about '}{rows:,}"
        end = "no step has windows"
        if answer.between is not None:
            end = f"{interval(delay + round(answer.between / MINUTE) * MINUTE)} behind its end"
        yield f"{interval(delay)}{' (now)' if own else ''}", counts, _share(late_ones), held, end


def _share(of: Late) -> str:
    return _range(*(f"{share:.3%}" for share in of.shares))


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
