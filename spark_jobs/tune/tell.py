"""Tell: each delay with its price, by the batches that were.

Accounts -> the batches, with what is known of their times -> bounds for each delay -> a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.draft.disorder import around
from spark_jobs.errors import QuestionRefused
from spark_jobs.spec.analysis.late_rule import of_spec
from spark_jobs.spec.duration import approximate, interval
from spark_jobs.storage.root.paths import Paths
from spark_jobs.tune import shares, state
from spark_jobs.tune.batches import Timed, timed
from spark_jobs.tune.exact import read
from spark_jobs.tune.shares import Late, undecided

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.again import Ask

COLUMNS = (
    "delay", "late_least", "late_most", "share_least", "share_most", "state_rows", "final_after",
    "weekday", "weekday_least", "weekday_most",
)  # fmt: skip
WEEKS = timedelta(days=14)
"""Of fewer days no weekday is told."""
UNEVEN = 2
"""How many times the share of all days a weekday has, if it is told."""
DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


class Price(NamedTuple):
    """Of one delay."""

    delay: timedelta
    late: Late
    state_rows: int | None
    """About, unless it is the present delay."""
    final_after: timedelta | None
    """How long behind the end of a window its rows come: of the delay, and of the time between two
    runs.
    """
    weekday: tuple[str, Late] | None
    """That one which has far more of them."""

    def values(self) -> tuple[object, ...]:
        """One for each of COLUMNS; times in seconds, shares as fractions."""
        day, of_day = self.weekday or (None, None)
        least, most = (None, None) if of_day is None else of_day.shares
        after = None if self.final_after is None else self.final_after.total_seconds()
        shown = interval(self.delay), *self.late[:2], *self.late.shares
        return *shown, self.state_rows, after, day, least, most


class Answer(NamedTuple):
    """What a tune tells."""

    present: timedelta
    prices: tuple[Price, ...]
    batches: int
    entered: int
    first: datetime
    last: datetime
    """The newest event times of the first batch and the last one."""
    between: timedelta | None
    """The time between two runs, that half of them keep."""
    was_late: int
    """Of these records, those that were late as the runs had it."""
    lost: str
    """Why some records could not be read; empty if all were, or none had to be."""
    notes: tuple[str, ...]
    """What it cannot know."""


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
    present, paths = spec.watermark_delay, Paths(settings.root, spec)
    if present is None:
        raise QuestionRefused.no_delay(pipeline=spec.name)
    wanted = sorted({*(delays or around(present)), present})
    rules = {each: rule for each in wanted if (rule := of_spec(spec, each))}
    if len(rules) < len(wanted):
        raise QuestionRefused.clock_of_another(pipeline=spec.name, why=_without_rule(spec))
    if (known := read_identity(paths)) is None:
        raise QuestionRefused.no_batches(pipeline=spec.name)
    batches, rows = timed(spec, paths, known, since)
    open_ = undecided(batches, rules.values())
    times, lost = read(spec, settings, ask, open_) if ask and open_ else ({}, "")
    days = batches[-1].day - batches[0].day
    seen = batches[-1].day - min(batch.row["first_event_time"] for batch in batches)
    now, between = state.largest(batch.row for batch in batches), _between(rows)
    entered = sum(batch.entered for batch in batches)
    windows = any(step.grouping_window for step in spec.steps)
    prices = []
    for delay, rule in rules.items():
        late = shares.of_all(batches, rule, times)[""]
        by_day = shares.of_all(batches, rule, times, lambda batch: DAYS[batch.day.weekday()])
        after = delay + (between or timedelta()) if windows else None
        rows_of_state = state.estimated(spec, now, delay, seen, entered)
        odd = _odd(late, by_day) if days >= WEEKS else None
        prices.append(Price(delay, late, rows_of_state, after, odd))
    return Answer(
        present,
        tuple(prices),
        len(batches),
        entered,
        batches[0].day,
        batches[-1].day,
        between,
        sum(batch.row["late"] for batch in batches),
        lost,
        (*_notes(spec, batches, bounds=bool(open_) and ask is None),),
    )


def _without_rule(spec: Pipeline) -> str:
    if spec.entry is None:
        return "no step keeps state"
    return f"no event time tells which records its step {spec.entry.kind} drops as late"


def _between(rows: Sequence[Row]) -> timedelta | None:
    ends: dict[str, datetime] = {}
    for row in rows:
        ends[row["run_id"]] = max(row["audited_at"], ends.get(row["run_id"], row["audited_at"]))
    gaps = [later - one for one, later in pairwise(sorted(ends.values()))]
    return timedelta(seconds=median(each.total_seconds() for each in gaps)) if gaps else None


def _odd(all_: Late, by_day: dict[str, Late]) -> tuple[str, Late] | None:
    """The weekday that has far more late records for certain."""
    day, most = max(by_day.items(), key=lambda each: each[1].shares[0])
    far = most.least and most.shares[0] >= UNEVEN * all_.shares[1]
    return (day, most) if far else None


def _notes(spec: Pipeline, batches: Sequence[Timed], *, bounds: bool) -> Iterator[str]:
    if bounds:
        yield (
            "Where two numbers stand, the notes of a thousand offsets each give bounds: --exact "
            "reads these records."
        )
    yield (
        "As if each delay had been in force all the time, with the batches that were. Late is what "
        "the first step with state drops."
    )
    yield "State of another delay is an estimate: as if keys came evenly. It is the largest so far."
    if spec.is_several or spec.close_after is not None:
        why = "of several topics" if spec.is_several else "with close_after"
        yield f"The watermark {why} is taken as it was: right if the delay has not changed since."
    if any(len(batch.late) < batch.row["late"] for batch in batches):
        yield "Some late records are no longer kept: those batches have wider bounds."


def lines(answer: Answer, name: str) -> Iterator[str]:
    """For a person, but for the table."""
    days = (answer.last - answer.first).total_seconds() / 86_400
    yield (
        f"{name}: {answer.entered:,} records that entered, in {answer.batches:,} batches over "
        f"{days:,.1f} days of event time to {answer.last:%F %H:%M}"
    )
    if answer.between is not None:
        yield f"half of the runs come within {approximate(answer.between)} of the one before"


def cells(answer: Answer) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Names and rows of the table for a person."""
    names = ("delay", "late", "share", "state rows", "a window is final")
    rows = []
    for price in answer.prices:
        own = price.delay == answer.present
        least, most, _ = price.late
        low, high = (f"{share:.3%}" for share in price.late.shares)
        late = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        about = "" if own else "about "
        held = "not known" if price.state_rows is None else f"{about}{price.state_rows:,}"
        final = f"{_minutes(price.final_after)} behind its end" if price.final_after else ""
        delay = f"{interval(price.delay)}{' (now)' if own else ''}"
        rows.append((delay, late, low if low == high else f"{low} to {high}", held, final))
    if not any(row[-1] for row in rows):
        return names[:-1], tuple(row[:-1] for row in rows)
    return names, tuple(rows)


def _minutes(duration: timedelta) -> str:
    return interval(timedelta(minutes=max(1, round(duration / timedelta(minutes=1)))))


def behind(answer: Answer) -> Iterator[str]:
    """The lines behind the table."""
    for price in answer.prices:
        if price.weekday:
            day, late = price.weekday
            low, high = late.shares
            share = f"{low:.3%}" if low == high else f"{low:.3%} to {high:.3%}"
            yield f"with {interval(price.delay)}: {share} on {day}"
    yield f"As the runs had it, {answer.was_late:,} of these records were late."
    if answer.lost:
        yield f"{answer.lost}."
    yield from answer.notes
