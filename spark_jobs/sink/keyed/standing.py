"""Standing: what a table that follows a key has, as its log says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import TableChanged
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table.open_version import Size, Unread
from spark_jobs.table.tables import own_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath


def remembered_share(path: UPath, version: int) -> float | None:
    """Deletes that are remembered, for each row that is none; None if the log does not tell."""
    found = _size(path, version)
    return None if found is None else found.remembered / max(found.live, 1)


def gained(path: UPath, version: int) -> int | None:
    """By how many rows that are no deletes this version has more than the one before it; None if
    the log does not tell.
    """
    before, after = (_size(path, each) for each in (version - 1, version))
    return None if before is None or after is None else after.live - before.live


def _size(path: UPath, version: int) -> Size | None:
    try:
        return own_table(path).open(version).size()
    except Unread:
        return None


def key_broken(table: str, key: Mapping[str, object]) -> TableChanged:
    """The error of a table in which a person has added a row of the key."""
    told = ", ".join(f"{name} = {value}" for name, value in key.items())
    return TableChanged.key_broken(table=table, key=told, sql=sql_table(table))
