"""Moves: what a table's commits have done since a version, as a reader of its rows sees it.

A commit that adds rows and removes none is read. One that removes rows replaces them: what it adds
is read by repairs alone. A publish keeps the two apart (table/published/parts.py). One that moves
rows to other files (OPTIMIZE) changes nothing; the rows are read from the files that had them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import UpstreamUnfit
from spark_jobs.table.delta.delta_log import TRUNCATED, Action, changes_data, file_key

if TYPE_CHECKING:
    from spark_jobs.table.delta.delta_log import Log


class File(NamedTuple):
    """A data file of the table."""

    path: str
    """As the log has it."""
    rows: int
    parts: Mapping[str, str | None]
    """Partition column -> its value, as the log has it."""
    first: datetime | None
    """No row has an earlier event time; None where the log does not tell."""
    last: datetime | None
    """No row has a later one; likewise."""

    @property
    def told(self) -> bool:
        """Whether its times are known, or it has no row with one."""
        return not self.rows or (self.first is not None and self.last is not None)


class Appended(NamedTuple):
    """A file whose rows a drain reads."""

    version: int
    at_ms: int
    """When it was committed, in milliseconds since the epoch."""
    file: File


class Moves(NamedTuple):
    """From one version to another."""

    live: dict[str, File]
    """The files of the later one, by path."""
    appended: tuple[Appended, ...]
    """In the order of commits, without those that were replaced by then."""
    replaced: bool
    """Whether rows were replaced, or nobody knows."""


def file_of(name: str, action: Action, event_time: str) -> File:
    """Raises UpstreamUnfit for a file whose rows cannot be numbered."""
    stats = json.loads(action.get("stats") or "{}")
    rows = stats.get("numRecords")
    if action.get("deletionVector"):
        raise UpstreamUnfit.feature(name=name, feature="deletion vectors")
    if type(rows) is not int:
        raise UpstreamUnfit.uncounted(name=name, file=action["path"])
    first, last = (_time(stats.get(of), event_time) for of in ("minValues", "maxValues"))
    parts = action.get("partitionValues") or {}
    return File(action["path"], rows, parts, first, last + TRUNCATED if last else None)


def _time(values: object, column: str) -> datetime | None:
    given = values.get(column) if isinstance(values, dict) else None
    try:
        found = datetime.fromisoformat(str(given))
    except ValueError:
        return None
    return found if found.tzinfo else None


def live_files(name: str, log: Log, version: int, event_time: str) -> dict[str, File]:
    """The files of a version, by path. Raises UpstreamUnfit; LookupError if nobody knows them."""
    replay = log.replay(version)
    metadata = replay.metadata or {}
    if metadata.get("configuration", {}).get("delta.columnMapping.mode", "none") != "none":
        raise UpstreamUnfit.feature(name=name, feature="column mapping")
    found = (file_of(name, action, event_time) for action in replay.added.values())
    return {file.path: file for file in found}


def moves(name: str, log: Log, since: int, until: int, event_time: str) -> Moves:
    """What a reader that has seen `since` finds at `until`. Raises UpstreamUnfit, LookupError."""
    live = live_files(name, log, until, event_time)
    if not log.has(since, until):
        return Moves(live, (), replaced=True)
    appended, replaced = dict[str, Appended](), False
    of = dict[str, frozenset[str]]()
    """File -> the appended ones of which it may have rows."""
    for version in range(since + 1, until + 1):
        actions = log.commit(version)
        added, removed = ([*_files(actions, kind)] for kind in ("add", "remove"))
        changed = [each for each in removed if changes_data(each)]
        if changed or _info(actions).get("operation") == "RESTORE":
            replaced = True
            for each in changed:
                for path in of.get(file_key(each), ()):
                    appended.pop(path, None)
        elif new := [each for each in added if changes_data(each)]:
            at_ms = int(_info(actions).get("timestamp") or 0)
            for each in new:
                appended[each["path"]] = Appended(version, at_ms, file_of(name, each, event_time))
                of[file_key(each)] = frozenset({each["path"]})
        moved = frozenset[str]().union(*(of.get(file_key(each), ()) for each in removed))
        for each in added:
            if moved and not changes_data(each):
                of[file_key(each)] = moved
    return Moves(live, tuple(appended.values()), replaced)


def _files(actions: Iterable[Action], kind: str) -> Iterable[Action]:
    return (each[kind] for each in actions if kind in each)


def _info(actions: Iterable[Action]) -> Action:
    return next((each["commitInfo"] for each in actions if "commitInfo" in each), {})


def in_order(files: Iterable[File]) -> Sequence[tuple[File, bool]]:
    """All rows of a table, for a reader that begins: by their event times, and whether a batch may
    end behind the file. It may not where a later file has a row that is no later.
    """
    by_time = sorted(files, key=lambda each: (each.first is not None, each.first, each.path))
    found, least = list[tuple[File, bool]](), None
    for file in reversed(by_time):
        apart = file.told and (least is None or (file.last is not None and file.last < least))
        found.append((file, not found or bool(apart and least is not None)))
        if file.first is not None:
            least = file.first if least is None else min(least, file.first)
    return found[::-1]
