"""Live rows: how many a table that follows a key has, and how many deletes, by its log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.table.delta.delta_log import Action, Log
from spark_jobs.table.delta.door import untried
from spark_jobs.table.open_version import Size
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    import deltalake
    from upath import UPath

PHYSICAL: Final = "delta.columnMapping.physicalName"
"""In a column's metadata: its name in the log, where columns are mapped."""


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
