"""Standing: what a table that follows a key has, read by its log and by columns. No JVM here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from spark_jobs.errors import TableChanged
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table.delta import door
from spark_jobs.table.delta.delta_log import Action, Log
from spark_jobs.table.delta.door import untried
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import deltalake
    from upath import UPath

PHYSICAL: Final = "delta.columnMapping.physicalName"
"""In a column's metadata: its name in the log, where columns are mapped."""


class Size(NamedTuple):
    """Rows of a table, as its log says."""

    live: int
    remembered: int
    """Deletes."""
    bytes: int = 0
    """Of the files."""

    @property
    def all(self) -> int:
        return self.live + self.remembered


def size(table: deltalake.DeltaTable, path: UPath) -> Size | None:
    """Of the version that is open; None if the log does not tell of each file."""
    if untried(table):
        return _by_entries(path, table.version())
    files = pa.table(table.get_add_actions(flatten=True))
    if files.num_rows == 0:
        return Size(0, 0)
    counts = files["num_records"]
    if counts.null_count:
        return None
    dead = files[f"partition.{DELETED}"]
    remembered = pc.sum(counts.filter(dead)).as_py() or 0
    stored = pc.sum(files["size_bytes"]).as_py()
    return Size(pc.sum(counts).as_py() - remembered, remembered, stored)


def _by_entries(path: UPath, version: int) -> Size | None:
    """Likewise by the log itself: delta-rs tells of no deletion vector how many rows it hides, and
    nothing by the names of columns that are mapped.
    """
    try:
        found = Log.of(path).replay(version)
    except LookupError:
        return None
    deleted = _name_in_log(found.metadata or {})
    live = remembered = stored = 0
    for file in found.added.values():
        counted = json.loads(file.get("stats") or "{}").get("numRecords")
        if counted is None:
            return None
        rows = counted - (file.get("deletionVector") or {}).get("cardinality", 0)
        stored += file["size"]
        if file["partitionValues"].get(deleted) == "true":
            remembered += rows
        else:
            live += rows
    return Size(live, remembered, stored)


def _name_in_log(metadata: Action) -> str:
    """Of the column DELETED: where columns are mapped, it has another one."""
    fields = json.loads(metadata.get("schemaString", '{"fields": []}'))["fields"]
    names = {field["name"]: field.get("metadata", {}).get(PHYSICAL) for field in fields}
    return names.get(DELETED) or DELETED


def size_at(path: UPath, version: int) -> Size | None:
    """Likewise of a version; None if the log no longer has it."""
    table = door.open_table(path)
    try:
        if table.version() != version:
            table.load_as_version(version)
    except DeltaError:
        return None
    return size(table, path)


def remembered_share(path: UPath, version: int) -> float | None:
    """Deletes that are remembered, for each row that is none; None if the log does not tell."""
    found = size_at(path, version)
    return None if found is None else found.remembered / max(found.live, 1)


def gained(path: UPath, version: int) -> int | None:
    """By how many rows that are no deletes this version has more than the one before it; None if
    the log does not tell.
    """
    before, after = (size_at(path, each) for each in (version - 1, version))
    return None if before is None or after is None else after.live - before.live


def key_broken(table: str, key: Mapping[str, object]) -> TableChanged:
    """The error of a table in which a person has added a row of the key."""
    told = ", ".join(f"{name} = {value}" for name, value in key.items())
    return TableChanged.key_broken(table=table, key=told, sql=sql_table(table))
