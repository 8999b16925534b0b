"""History: the batches' own commits, told from the table's log by the note that each carries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import deltalake

from spark_jobs.storage.delta import open_table

if TYPE_CHECKING:
    from upath import UPath

FIRST = 20
"""How many entries are read at first: more than a run's batches make, mostly."""


def commits(path: UPath, owner: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Batch id and Delta's history entry of each commit that `owner` made (pipeline/generation), the newest first."""
    for entry in _entries(open_table(path)):
        note = json.loads(entry.get("userMetadata") or "{}")
        if note.get("sluice") == owner:
            yield note["batch"], entry


def _entries(table: deltalake.DeltaTable) -> Iterator[dict[str, Any]]:
    """The newest first, read as far as they are asked for: each is a file, and a table that is a month old has thousands."""
    told, most = 0, FIRST
    while told < (found := len(entries := table.history(most))):
        yield from entries[told:]
        told, most = found, most * 10


def version_after(path: UPath, owner: str, batch: int) -> int:
    """The table's version once that batch was written: its own commit, or the last before it; 0 where there is none."""
    return next((int(entry["version"]) for found, entry in commits(path, owner) if found <= batch), 0)
