"""Written: what the commits of batches have written, from the table's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.table import history

if TYPE_CHECKING:
    from spark_jobs.table.port import Table


class Written(NamedTuple):
    """The rows that one batch's commit wrote, and its version of the table."""

    rows: int
    version: int
    fates: Fates | None = None
    """What the sink counted of a table that follows a key; None of another table."""


def written(table: Table, owners: Sequence[str], since_batch: int) -> dict[int, Written]:
    """Batch id -> what its commit wrote, for the checkpoint's batches from `since_batch` on, from
    the table's history.

    Of all generations: a rewind may keep a batch that no run had accounted for.
    """
    by_batch: dict[int, Written] = {}
    for batch_id, entry in history.commits(table, owners):
        if batch_id < since_batch:
            break
        if entry.rows is None:  # one that Delta made after it, with its note
            continue
        said = entry.said.get("fates")
        told = None if said is None else Fates.of(said)
        by_batch[batch_id] = Written(entry.rows, entry.version, told)
    return by_batch
