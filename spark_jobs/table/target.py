"""Target: the checkpoint, cursor and table of one query, and whose batches the table has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.table.port import Table


class Target(NamedTuple):
    """Where one query reads and writes.

    A drain has its pipeline's live target; any other kind of run has its own.
    """

    checkpoint: UPath
    """Spark's checkpoint."""
    cursor: UPath
    """The last batches of that checkpoint that were audited and checked
    (checkpoint/notes/cursor.py)."""
    failing: UPath
    """The records of that checkpoint's batches on which an expression of the spec fails
    (checkpoint/notes/failing.py).
    """
    table: Table
    """The table that its batches are written to."""
    owner: str
    """Who writes these batches, as the table knows it: pipeline/generation.

    The batch ids of two owners are independent.
    """

    @classmethod
    def live(cls, paths: Paths, owner: str) -> Target:
        """The pipeline's own checkpoint and table. Only the holder of its lease writes them."""
        return cls(paths.checkpoint, paths.cursor, paths.failing, table_of(paths), owner)
