"""Tell: since when a condition is true of a table.

The table's states -> those that can be read -> the search -> what made the commits in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.errors import QuestionRefused
from spark_jobs.since.cause import Causes, asked_by
from spark_jobs.since.condition import Condition
from spark_jobs.since.states import flips, states
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import OF_A_KEY
from spark_jobs.values.times import iso

if TYPE_CHECKING:
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
    """When it was made."""
    causes: tuple[tuple[int, str, str], ...]
    """Version, and as Causes.of; newest first: several where those between cannot be read."""
    rows: tuple[int, int]
    """For how many rows the condition is true before, and after; 1 and 0 of all together."""


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


def told(
    spec: Pipeline,
    root: str,
    sql: str,
    key: str = "true",
    right: int | None = None,
    wrong: int | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Answer:
    """Since when; `sql` and `key` as Condition has them. `right` and `wrong` are versions between
    which is searched; without, the oldest that can be read and the newest. `progress` gets a line
    for each version that was asked.

    Raises QuestionRefused, TableLacks, and what reading a root does.
    """
    paths = Paths(root, spec)
    table = table_of(paths)
    table.require("query", "sluice bisect")
    if not table.exists():
        raise QuestionRefused.no_table(table=paths.table, pipeline=spec.name)
    newest = table.version()
    until = newest if wrong is None else wrong
    found = states(table, right or 0, until)
    at = {n: each.read_at for n, each in enumerate(found) if each.read_at is not None}
    readable = {n for each in found if each.read_at is not None for n in each.versions}
    for version in (until if right is None else right, until):
        if version not in readable:
            there = any(version in each.versions for each in found)
            why = "VACUUM has removed files of it" if there else "the log has no such version"
            first = min(readable, default=newest)
            raise QuestionRefused.no_version(version=version, why=why, first=first, last=newest)
    condition, known, last = Condition(table, sql, key), dict[int, int](), max(at)

    def ask(number: int) -> bool:
        if number not in known:
            known[number] = condition.rows(at[number])
            progress(f"version {at[number]}: {'wrong' if known[number] else 'right'}")
        return known[number] > 0

    if not ask(last):
        raise QuestionRefused.not_wrong(version=at[last])
    odd = [n for n, each in enumerate(found) if n and not each.entry.note][-NEAR:]
    met = flips([*at], ask, (side for n in odd for side in (n - 1, n)))
    if not met:
        raise QuestionRefused.always_wrong(version=found[min(at)].version, asked=len(known))
    causes, changes = Causes(spec, paths), []
    for before, after, to in reversed(met):
        made = found[before + 1 : after + 1][::-1]
        said = tuple((each.version, *causes.of(each.entry)) for each in made)
        entry, then = made[0].entry, (known[before], known[after])
        changes.append(Change(to, at[before], entry.version, entry.at, said, then))
    brought = condition.brought(at[met[-1].after], at[met[-1].before])
    rows = tuple((_seen(row), asked_by(spec, row)) for row in brought)
    counts = (len(known), len(found), len(found) - len(at))
    return Answer((*changes,), found[last].versions[-1], known[last], *counts, rows)


def _seen(row: dict[str, Any]) -> dict[str, Any]:
    """As consumers see it, with times as text."""
    return {
        name: iso(value, " ") if isinstance(value, datetime) else value
        for name, value in row.items()
        if name not in OF_A_KEY
    }


def lines(answer: Answer) -> Iterator[str]:
    """For a person. Each is a sentence, or begins with two spaces and belongs to the one before."""
    newest, *earlier = answer.changes
    yield from _lines(newest)
    before, then = newest.rows
    if answer.rows or then > 1:
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


def _lines(change: Change) -> Iterator[str]:
    since, several = f"{'wrong' if change.wrong else 'right'} since", change.causes[1:]
    at = "" if change.at is None else f", of {iso(change.at, ' ', 'seconds')}"
    if several:
        versions = f"{change.before + 1} to {change.version}{at}"
        yield f"{since} one of the versions {versions}; those before it are gone"
    for version, said, look in change.causes[:CAUSES]:
        which = f"  version {version}" if several else f"{since} version {version}{at}"
        yield f"{which}: {said}"
        if look:
            yield f"  {look}"
    if more := change.causes[CAUSES:]:
        yield f"  and {len(more):,} versions before these"
