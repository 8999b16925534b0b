"""Tell: since when a condition is true of a table.

The table's states -> those that can be read -> the search -> what made the commits in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.errors import QuestionRefused
from spark_jobs.since.cause import Cause, Causes
from spark_jobs.since.condition import Asking
from spark_jobs.since.records import asked_by
from spark_jobs.since.states import Flip, State, flips, states
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import OF_A_KEY
from spark_jobs.values.times import iso

if TYPE_CHECKING:
    from spark_jobs.since.condition import Condition
    from spark_jobs.spec import Pipeline

NEAR = 16
"""Commits that are none of a drain, on both sides of which is asked: the newest ones."""
CAUSES = 10
"""Of what was vacuumed, those that are named."""


class Change(NamedTuple):
    """Of the answer, between two states that were asked."""

    wrong: bool
    """The answer from there on."""
    before: int
    """The version that was asked before it."""
    version: int
    """Of the commit that changed the answer; the last that may have, of several."""
    at: datetime | None
    causes: tuple[tuple[int, Cause], ...]
    """Version and cause: several where the versions between cannot be read."""
    unread: int
    """How many others may have changed it: they cannot be read either."""
    rows: tuple[int, int]
    """For how many rows the condition is true before, and after."""


class Answer(NamedTuple):
    """What a bisect tells."""

    changes: tuple[Change, ...]
    """Newest first; the first one says since when it is wrong."""
    newest: int
    """The version that was taken for wrong, and its rows."""
    rows_now: int
    asked: int
    states: int
    unread: int
    """Of the states, those that VACUUM has taken."""
    rows: tuple[tuple[dict[str, Any], str], ...]
    """Some rows that the newest change brought, and the command that tells of their records."""
    of_rows: bool
    """Whether the condition is of a row each; else the numbers of rows are 1 and 0."""


def told(
    spec: Pipeline,
    root: str,
    condition: Condition,
    right: int | None = None,
    wrong: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Answer:
    """Since when. `right` and `wrong` are versions between which is searched; without, the oldest
    that can be read and the newest. `progress` is called with each version that was asked, and its
    rows.

    Raises QuestionRefused, TableLacks, and what reading a root does.
    """
    paths = Paths(root, spec)
    table = table_of(paths)
    table.require("query", "sluice bisect")
    if not table.exists():
        raise QuestionRefused.no_table(table=paths.table, pipeline=spec.name)
    found = states(table, right or 0, table.version() if wrong is None else wrong)
    askable = [number for number, each in enumerate(found) if each.read_at is not None]
    _refuse_unread(found, askable, right, wrong, table.version())
    asking, known = Asking(condition, table), dict[int, int]()

    def at(number: int) -> int:
        version = found[number].read_at
        assert version is not None
        return version

    def ask(number: int) -> bool:
        if number not in known:
            known[number] = asking.rows(at(number))
            if progress:
                progress(at(number), known[number])
        return known[number] > 0

    last = askable[-1]
    if not ask(last):
        which = "the newest" if wrong is None else "which was named as wrong"
        raise QuestionRefused.not_wrong(version=at(last), which=which)
    odd = [n for n, each in enumerate(found) if n and not each.entry.note][-NEAR:]
    met = flips(askable, ask, (side for n in odd for side in (n - 1, n)))
    if not met:
        kept = "is kept" if right is None else "was asked"
        raise QuestionRefused.always_wrong(
            version=found[askable[0]].version, kept=kept, asked=len(known)
        )
    causes = Causes(spec, paths)
    changes = tuple(_change(each, found, known, causes) for each in reversed(met))
    newest = met[-1]
    of_rows = asking.is_of_rows(after := at(newest.after))
    brought = asking.brought(after, at(newest.before)) if of_rows else []
    return Answer(
        changes,
        found[last].versions[-1],
        known[last],
        len(known),
        len(found),
        len(found) - len(askable),
        tuple((seen(row), asked_by(spec, row)) for row in brought),
        of_rows,
    )


def _refuse_unread(
    found: list[State], askable: list[int], right: int | None, wrong: int | None, newest: int
) -> None:
    """Raise QuestionRefused unless a version that was named can be read, and there is one."""
    read = {version for n in askable for version in found[n].versions}
    first = min((found[n].versions[0] for n in askable), default=newest)
    for version in (right, wrong):
        if version is None or (version in read and version <= newest):
            continue
        there = any(version in each.versions for each in found)
        why = "VACUUM has removed files of it" if there else "the log has no such version"
        raise QuestionRefused.no_version(version=version, why=why, first=first, last=newest)
    if not askable:
        raise QuestionRefused.no_version(
            version=newest, why="files of it are gone", first=first, last=newest
        )


def _change(flip: Flip, found: list[State], known: dict[int, int], causes: Causes) -> Change:
    between = found[flip.before + 1 : flip.after + 1]
    before = found[flip.before].read_at
    assert before is not None
    return Change(
        flip.to,
        before,
        between[-1].version,
        between[-1].entry.at,
        tuple((each.version, causes.of(each)) for each in reversed(between[-CAUSES:])),
        max(0, len(between) - CAUSES),
        (known[flip.before], known[flip.after]),
    )


def lines(answer: Answer) -> Iterator[str]:
    """For a person. Each is a sentence, or begins with two spaces and belongs to the one before."""
    newest, *earlier = answer.changes
    yield from _lines(newest)
    if answer.of_rows:
        before, then = newest.rows
        now = f"{answer.rows_now:,} in version {answer.newest}"
        yield f"  rows of which it is true: {before:,} before, {then:,} then, {now}"
    for row, look in answer.rows:
        yield f"  row: {row}"
        if look:
            yield f"  {look}"
    for each in earlier:
        yield from _lines(each)
    whole = answer.asked == answer.states - answer.unread
    missed = "" if whole else " What came and went between two of them is not seen."
    yield f"{answer.asked:,} of {answer.states:,} states of the table were asked.{missed}"
    if answer.unread:
        yield f"{answer.unread:,} cannot be read any more: VACUUM has removed files of them."


def seen(row: dict[str, Any]) -> dict[str, Any]:
    """As consumers see it, with times as text."""
    return {
        name: iso(value, " ") if isinstance(value, datetime) else value
        for name, value in row.items()
        if name not in OF_A_KEY
    }


def plain(answer: Answer) -> dict[str, Any]:
    """As JSON has it, with times as text."""
    changes = [
        each._asdict() | {"causes": [{"version": n} | cause._asdict() for n, cause in each.causes]}
        for each in answer.changes
    ]
    rows = [{"row": row, "look": look or None} for row, look in answer.rows]
    return answer._asdict() | {"changes": changes, "rows": rows}


def _lines(change: Change) -> Iterator[str]:
    word = "wrong" if change.wrong else "right"
    at = "" if change.at is None else f", of {iso(change.at, ' ', 'seconds')}"
    [(version, cause), *others] = change.causes
    if others:
        first = change.before + 1
        yield f"{word} since one of the versions {first} to {version}{at}; those before it are gone"
    else:
        yield f"{word} since version {version}{at}: {cause.said}"
    for number, each in change.causes:
        if others:
            yield f"  version {number}: {each.said}"
        if each.look:
            yield f"  {each.look}"
    if change.unread:
        yield f"  and {change.unread:,} versions before these"
