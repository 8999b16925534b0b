"""Standing: what a table that follows a key has, as its log says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import TableChanged
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table.tables import size_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath


def remembered_share(path: UPath, version: int) -> float | None:
    """Deletes that are remembered, for each row that is none; None if the log does not tell."""
    found = size_at(path, version)
    return None if found is None else found.remembered / max(found.live, 1)


def key_broken(table: str, key: Mapping[str, object]) -> TableChanged:
    """The error of a table in which a person has added a row of the key."""
    told = ", ".join(f"{name} = {value}" for name, value in key.items())
    return TableChanged.key_broken(table=table, key=told, sql=sql_table(table))
