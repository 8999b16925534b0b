"""History: the commits of batches in the table's history, found by the note in each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

import deltalake

from spark_jobs.storage.delta import open_table

if TYPE_CHECKING:
    from upath import UPath

NO_ROWS = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES"})
"""Delta's operations that change no row."""
RESTORE = "RESTORE"
FIRST = 20
"""Entries in the first read: more than most runs commit."""
Entry = dict[str, Any]
"""An entry of a table's history, as delta-rs reads it from a commit's `commitInfo`."""


class Note(TypedDict, total=False):
    """What a batch's commit says of itself (sink/commit.py); empty for another's commit."""

    sluice: str
    """The pipeline and its generation, with a slash between."""
    batch: int
    run: str


def commits(path: UPath, owner: str) -> Iterator[tuple[int, Entry]]:
    """Batch id and Delta's history entry of each commit of `owner` (pipeline/generation), newest
    first.
    """
    for entry in _entries(open_table(path)):
        note = _note(entry)
        if note.get("sluice") == owner:
            yield note["batch"], entry


def _entries(table: deltalake.DeltaTable) -> Iterator[Entry]:
    """All entries, newest first, read lazily: each is a file, and the table of a month has
    thousands.
    """
    yielded = 0
    limit = FIRST
    while len(entries := table.history(limit)) > yielded:
        yield from entries[yielded:]
        yielded = len(entries)
        limit *= 10


def version_after(path: UPath, owners: Collection[str], batch: int) -> int:
    """The newest version of the table with the rows after that batch: of its commit, or of the last
    batch before it; 0 without one. `owners`: of all generations that the checkpoint has had.

    It may be one that only joined files: VACUUM removes those of the batch's own version first.
    Commits that a RESTORE took back are passed over: an abandoned generation had the same batches.
    """
    same, restored = None, None
    for entry in _entries(open_table(path)):
        version = int(entry["version"])
        if restored is not None and version > restored:
            continue
        note = _note(entry)
        if note.get("sluice") in owners and note["batch"] <= batch:
            return version if same is None else same
        if entry["operation"] == RESTORE:
            to = entry.get("operationParameters", {}).get("version")
            restored = int(to) if to is not None else None
        if entry["operation"] not in {RESTORE, *NO_ROWS}:
            same = None
        elif same is None:
            same = version
    return 0


def somebody_else_wrote(path: UPath, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, changed rows and is not the commit of a
    batch.
    """
    for entry in _entries(open_table(path)):
        if int(entry["version"]) <= since:
            return False
        if (
            int(entry["version"]) <= version
            and "sluice" not in _note(entry)
            and entry["operation"] not in NO_ROWS
        ):
            return True
    return True  # the log was cleaned up: nobody knows


def rows_changed(path: UPath, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, may have changed a row: one that joined or
    removed files has not.
    """
    for entry in _entries(open_table(path)):
        if int(entry["version"]) <= since:
            return False
        if int(entry["version"]) <= version and entry["operation"] not in NO_ROWS:
            return True
    return True  # the log was cleaned up: nobody knows


def read_at(path: UPath, time: datetime) -> int | None:
    """The version with the rows that the table had at this time, before any OPTIMIZE after them;
    None if the log begins later.
    """
    for entry in _entries(open_table(path)):
        if _committed_at(entry) <= time and entry["operation"] not in NO_ROWS:
            return int(entry["version"])
    return None


def newest_at(path: UPath, time: datetime) -> int | None:
    """The table's newest version at this time; None if the log begins later."""
    for entry in _entries(open_table(path)):
        if _committed_at(entry) <= time:
            return int(entry["version"])
    return None


def committed_at(path: UPath, version: int) -> datetime | None:
    """When that version was committed; None if the log no longer has it."""
    for entry in _entries(open_table(path)):
        if int(entry["version"]) <= version:
            return _committed_at(entry) if int(entry["version"]) == version else None
    return None


def _committed_at(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry["timestamp"] / 1000, UTC)


def _note(entry: Entry) -> Note:
    note: Note = json.loads(entry.get("userMetadata") or "{}")
    return note
