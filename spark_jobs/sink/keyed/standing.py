"""Standing: what a table that follows a key has, read by its log and by columns. No JVM here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from spark_jobs.sink.keyed.fates import BEFORE, compared
from spark_jobs.storage import delta
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    import deltalake
    from upath import UPath

    from spark_jobs.spec import Latest


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


def size(table: deltalake.DeltaTable) -> Size | None:
    """None if the log does not tell of each file."""
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


def size_at(path: UPath, version: int) -> Size | None:
    """Likewise of a version; None if the log no longer has it."""
    table = delta.open_table(path)
    try:
        if table.version() != version:
            table.load_as_version(version)
    except DeltaError:
        return None
    return size(table)


def gained(path: UPath, version: int) -> int | None:
    """By how many rows that are no deletes this version has more than the one before it; None if
    the log does not tell.
    """
    before, after = (size_at(path, each) for each in (version - 1, version))
    return None if before is None or after is None else after.live - before.live


def beside(newest: pa.Table, table: deltalake.DeltaTable, step: Latest) -> pa.Table:
    """The newest changes, each with what the table has of its key: BEFORE columns."""
    columns = [*step.keys, *compared(step.order_by)]
    found = [
        rows.filter(_may_be(rows, newest, step)).cast(_plain(newest, columns))
        for rows in table.to_pyarrow_dataset().to_batches(columns=columns)
    ]
    known = pa.Table.from_batches(found, _plain(newest, columns))
    known = known.rename_columns([*step.keys, *(BEFORE + name for name in compared(step.order_by))])
    numbered = newest.select(list(step.keys)).append_column(
        BEFORE, pa.array(range(newest.num_rows), pa.int64())
    )
    joined = numbered.cast(_plain(numbered, numbered.column_names)).join(
        known, list(step.keys), join_type="left outer"
    )
    joined = joined.sort_by(BEFORE).drop_columns([*step.keys, BEFORE])
    for name in joined.column_names:
        newest = newest.append_column(name, joined[name])
    return newest


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
