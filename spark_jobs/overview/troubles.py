"""Troubles: what may be wrong with a pipeline, the worst first.

A row is a trouble: its name, when it is there, how it is told, and its next step. The order of the
rows is the order of the page.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from spark_jobs.ops.next_steps import next_steps
from spark_jobs.overview.json_of_overview import Place, TroubleLine
from spark_jobs.overview.reading import SLACK, Reading
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.spec.duration import approximate

NEAR: Final = 0.8
"""The share of a state's budget from which on it is told: checks fail beyond the whole."""


class Told(NamedTuple):
    """How one is told, and what to do next."""

    words: str
    since: datetime | None
    why: str
    command: str
    place: Place


class Trouble(NamedTuple):
    """One row. `told` gives None for a pipeline that does not have it."""

    name: str
    told: Callable[[Reading], Told | None]
    about: str
    """When it is there, for people."""
    grave: bool = False
    """Whether rows do not reach consumers as they should."""


def _failed(of: Reading) -> Told | None:
    if of.last is None or of.last.status == "succeeded":
        # A task may fail before a run of Sluice begins, or behind it.
        failed = of.due.failed_at if of.due else None
        if failed is None or (of.last and of.last.ended_at > failed):
            return None
        words = "the last run of its DAG failed, and no drain says why"
        return Told(words, failed, "see what a run would do", _plan(of), "dag")
    step = next_steps(of.last, ())[0]
    runs = next((n for n, mark in enumerate(of.marks) if mark.status == "succeeded"), len(of.marks))
    many = f", {runs} runs in a row" if runs > 1 else ""
    what = of.last.problem or "failed"
    return Told(f"{what}{many}", of.failing_since, step.why, step.command, "run")


def _unreadable(of: Reading) -> Told | None:
    if of.lacking is None:
        return None
    command = f"sluice doctor {of.pipeline}" if of.notes.spec else "sluice validate"
    return Told(of.lacking, None, "see what else is wrong", command, "pipeline")


def _unpublished(of: Reading) -> Told | None:
    waits = of.waits
    if not waits.rows or _soon(of, waits.since):
        return None
    batches = _count(waits.batches, "batch", "batches")
    return Told(
        f"{_count(waits.rows, 'row')} of {batches} in no published table",
        waits.since,
        "publish what has passed",
        f"sluice publish {of.pipeline}",
        "run",
    )


def _overdue(of: Reading) -> Told | None:
    due = of.due
    if due and due.active_since:
        next_one = due.active_since + of.longest_wait
        words, at = "a run does not end, and the next one was due", next_one
    elif due and due.at and not due.paused:
        words, at = "the run that was due did not begin", due.at
    else:
        return None
    if at + SLACK > of.now:
        return None
    return Told(words, at, "see in Airflow why", _plan(of), "dag")


def _stale(of: Reading) -> Told | None:
    since, last = of.stale_since, of.watermark
    if since is None or last is None or of.allowed is None or of.quiet:
        return None
    behind = f"its watermark is {approximate(of.now - last)} behind"
    allowed = f"schedule and delay allow {approximate(of.allowed)}"
    if of.due and of.due.paused:
        return Told(f"{behind}, and its DAG is paused", since, "unpause it", _plan(of), "dag")
    command = f"sluice show runs {of.pipeline}"
    return Told(f"{behind}; {allowed}", since, "see when it stood still", command, "pipeline")


def _quiet(of: Reading) -> Told | None:
    """A topic that sleeps at night is in no danger; nor does anybody else tell of a dead producer,
    or of a transaction that stays open.
    """
    since, last = of.stale_since, of.watermark
    if since is None or last is None or not of.quiet:
        return None
    words = f"drains find no new record; its watermark is {approximate(of.now - last)} behind"
    return Told(words, since, "see what the topic has", _plan(of), "pipeline")


def _unrepaired(of: Reading) -> Told | None:
    again = of.again
    if again is None or again.status == "succeeded":
        return None
    words = f"the last {again.kind} failed: {again.problem or 'no code'}"
    command = f"sluice show repairs {of.pipeline}"
    return Told(words, again.started_at, "see repairs", command, "pipeline")


def _late(of: Reading) -> Told | None:
    spec, waits = of.notes.spec, of.waits
    if not waits.late or spec is None or spec.ranges.repair == "after drain":
        return None  # their DAG repairs those itself; where that fails it is told above
    words = f"{_count(waits.late, 'late record')} wait{'s' * (waits.late == 1)}"
    if unranged(spec) is None:
        why, command = "see what a repair would change", f"sluice repair {of.pipeline}"
    else:
        why, command = "see them", f"sluice show late {of.pipeline}"
    return Told(words, of.late_since, why, command, "late")


def _outdated(of: Reading) -> Told | None:
    spec, (ranges, since) = of.notes.spec, of.waits.outdated
    if not ranges or spec is None or spec.ranges.repair == "after drain":
        return None  # as above
    words = f"tables beside the stream have changed for {_count(ranges, 'range')} of rows"
    why, command = "see what a repair would change", f"sluice repair {of.pipeline}"
    return Told(words, since, why, command, "coverage")


def _warned(of: Reading) -> Told | None:
    if not of.warnings or of.last is None:
        return None
    first, *others = of.warnings
    more = f" and {len(others)} more" if others else ""
    command = f"sluice show checks {of.pipeline}"
    why = "see what the checks found"
    return Told(f"warning: {first}{more}", of.last.ended_at, why, command, "run")


def _near_budget(of: Reading) -> Told | None:
    if of.notes.spec is None:
        return None
    state, waits = of.notes.spec.state, of.waits
    shares = [
        (used / budget, f"{budget:,} {unit}")
        for used, budget, unit in (
            (waits.state_rows, state.budget_rows, "rows"),
            (waits.state_bytes, state.budget_bytes, "bytes"),
        )
        if used is not None and budget
    ]
    share, budget = max(shares, default=(0.0, ""))
    if share < NEAR:
        return None
    command = f"sluice show growth {of.pipeline}"
    words = f"state uses {share:.0%} of its budget of {budget}"
    return Told(words, None, "see how it grows", command, "state")


def _staged(of: Reading) -> Told | None:
    staged = of.waits.staged
    if not staged:
        return None
    words = f"{_count(len(staged), 'change')} wait{'s' * (len(staged) == 1)} for approval"
    command = f"sluice show repairs {of.pipeline}"
    return Told(words, min(staged), "approve or reject it", command, "coverage")


def _cut_off(of: Reading) -> Told | None:
    change = of.notes.change
    if change is None or of.notes.held or _soon(of, change.at):
        return None
    why = "the next run completes it; see how"
    return Told(f"{change.words} was cut off", change.at, why, _plan(of), "pipeline")


TROUBLES: Final = (
    Trouble("failed", _failed, "the last drain failed, or the last run of its DAG", grave=True),
    Trouble(
        "unreadable", _unreadable, "its spec, its checkpoint or its rows in the ops tables cannot "
        "be read", grave=True,
    ),
    Trouble(
        "unpublished", _unpublished, "rows are in the table, and consumers were not told of them",
        grave=True,
    ),
    Trouble("overdue", _overdue, "a run of its DAG was due, and did not begin", grave=True),
    Trouble(
        "stale", _stale, "the watermark is further behind than delay and schedule allow, and does "
        "not gain on the clock", grave=True,
    ),
    Trouble("quiet", _quiet, "the watermark is as far behind, and no new record can be read"),
    Trouble("repair failed", _unrepaired, "the last repair, backfill, verify or replay failed"),
    Trouble("late waiting", _late, "late records that no repair has used"),
    Trouble("outdated", _outdated, "a table beside the stream has changed, and rows have not"),
    Trouble("warning", _warned, "the last drain passed, but for checks of severity warning"),
    Trouble("near budget", _near_budget, f"state uses {NEAR:.0%} of its budget, or more"),
    Trouble("to approve", _staged, "a change is computed, and waits for a person's answer"),
    Trouble("cut off", _cut_off, "a change of several steps ended amid them"),
)  # fmt: skip


def troubles(of: Reading) -> tuple[TroubleLine, ...]:
    """All that it has, the worst first."""
    return tuple(
        TroubleLine(name=each.name, grave=each.grave, **told._asdict())
        for each in TROUBLES
        if (told := each.told(of)) is not None
    )


_RANK: Final = {each.name: rank for rank, each in enumerate(TROUBLES)}


def order(found: tuple[TroubleLine, ...], name: str) -> tuple[int, float, str]:
    """By the worst trouble, of one that all have the longest first, and by name."""
    if not found:
        return len(TROUBLES), 0.0, name
    since = found[0].since
    return _RANK[found[0].name], since.timestamp() if since else float("inf"), name


def _soon(of: Reading, since: datetime | None) -> bool:
    return since is not None and of.now - since < max(SLACK, _working(of))


def _working(of: Reading) -> timedelta:
    active = of.due.active_since if of.due else None
    return of.now - active if active else timedelta()


def _plan(of: Reading) -> str:
    return f"sluice plan {of.pipeline}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
