"""Tables: what keeps the table of a place, which the spec's layout names; and a query's target: its
checkpoint, its cursor and its table.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, cast

from spark_jobs.spec import Layout
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.table.open_version import Size
    from spark_jobs.table.port import Table


def own_table(path: UPath) -> Table:
    """A table that Sluice keeps for itself, whatever the pipelines' are: Delta's."""
    return cast("Table", resolve_name(Layout.kept_by)(path))


def table_of(paths: Paths, name: str = "") -> Table:
    """The table of the pipeline's place, in the format that its spec declares, or a former one's of
    that name. It may not be there yet.
    """
    path = paths.tables / name if name else paths.table
    return cast("Table", resolve_name(paths.kept_by)(path))


def size_at(path: UPath, version: int) -> Size | None:
    """Of a version of a table that Sluice keeps for itself, or that follows a key; None if its log
    no longer tells.
    """
    try:
        return own_table(path).open(version).size()
    except LookupError:
        return None


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
