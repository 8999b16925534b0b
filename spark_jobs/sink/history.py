"""History: the commits of batches in the table's history, found by the note in each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import deltalake

from spark_jobs.storage.delta import open_table

if TYPE_CHECKING:
    from upath import UPath

FIRST = 20
"""Entries in the first read: more than most runs commit."""


def commits(path: UPath, owner: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Batch id and Delta's history entry of each commit of `owner` (pipeline/generation), newest
    first.
    """
    for entry in _entries(open_table(path)):
        note = json.loads(entry.get("userMetadata") or "{}")
        if note.get("sluice") == owner:
            yield note["batch"], entry


def _entries(table: deltalake.DeltaTable) -> Iterator[dict[str, Any]]:
    """All entries, newest first, read lazily: each is a file, and the table of a month has
    thousands.
    """
    yielded = 0
    limit = FIRST
    while len(entries := table.history(limit)) > yielded:
        yield from entries[yielded:]
        yielded = len(entries)
        limit *= 10


def version_after(path: UPath, owner: str, batch: int) -> int:
    """The table's version after that batch: of its commit, or of the last batch before it; 0
    without one.
    """
    return next(
        (int(entry["version"]) for batch_id, entry in commits(path, owner) if batch_id <= batch), 0
    )


def somebody_else_wrote(path: UPath, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, is not the commit of a batch."""
    for entry in _entries(open_table(path)):
        if int(entry["version"]) <= since:
            return False
        note = json.loads(entry.get("userMetadata") or "{}")
        if int(entry["version"]) <= version and "sluice" not in note:
            return True
    return True  # the log was cleaned up: nobody knows
