"""Standing: what a table that follows a key has, read by its log and by columns. No JVM here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from spark_jobs.errors import TableChanged
from spark_jobs.root.path_forms import from_uri, sql_table
from spark_jobs.sink.keyed.fates import BEFORE, compared
from spark_jobs.table.delta import door
from spark_jobs.table.delta.delta_log import Action, Log
from spark_jobs.table.delta.features import untried
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import deltalake
    from upath import UPath

    from spark_jobs.spec import Latest


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


def gained(path: UPath, version: int) -> int | None:
    """By how many rows that are no deletes this version has more than the one before it; None if
    the log does not tell.
    """
    before, after = (size_at(path, each) for each in (version - 1, version))
    return None if before is None or after is None else after.live - before.live


def beside(newest: pa.Table, table: deltalake.DeltaTable, step: Latest) -> pa.Table:
    """The newest changes, each with what the table has of its key: BEFORE columns.

    Raises TableChanged if it has several rows of a key.
    """
    columns = [*step.keys, *compared(step.order_by)]
    found = [
        rows.filter(_may_be(rows, newest, step)).cast(_plain(newest, columns))
        for rows in door.dataset(table).to_batches(columns=columns)
    ]
    known = pa.Table.from_batches(found, _plain(newest, columns))
    lives = pc.fill_null(known[DELETED], fill_value=False)  # a person's row has none
    known = known.set_column(known.schema.get_field_index(DELETED), DELETED, lives)
    known = known.rename_columns([*step.keys, *(BEFORE + name for name in compared(step.order_by))])
    numbered = newest.select(list(step.keys)).append_column(
        BEFORE, pa.array(range(newest.num_rows), pa.int64())
    )
    joined = numbered.cast(_plain(numbered, numbered.column_names)).join(
        known, list(step.keys), join_type="left outer"
    )
    if joined.num_rows > newest.num_rows:
        several = joined.group_by(list(step.keys)).aggregate([([], "count_all")])
        first = several.filter(pc.greater(several["count_all"], 1)).select(list(step.keys))
        raise key_broken(from_uri(table.table_uri), first.slice(0, 1).to_pylist()[0])
    joined = joined.sort_by(BEFORE).drop_columns([*step.keys, BEFORE])
    for name in joined.column_names:
        newest = newest.append_column(name, joined[name])
    return newest


def key_broken(table: str, key: Mapping[str, object]) -> TableChanged:
    """The error of a table in which a person has added a row of the key."""
    told = ", ".join(f"{name} = {value}" for name, value in key.items())
    return TableChanged.key_broken(table=table, key=told, sql=sql_table(table))


def _may_be(rows: pa.RecordBatch, newest: pa.Table, step: Latest) -> pa.Array:
    """boolean: whether each column of the key has a value of one of the changes."""
    few: pa.Array = pa.array([True] * rows.num_rows)
    for name in step.keys:
        kind = rows.schema.field(name).type
        few = pc.and_(few, pc.is_in(rows[name], value_set=newest[name].cast(kind).combine_chunks()))
    return few


def _plain(table: pa.Table, columns: list[str]) -> pa.Schema:
    """The columns' types; any of them may be null."""
    return pa.schema([pa.field(name, table.schema.field(name).type) for name in columns])
