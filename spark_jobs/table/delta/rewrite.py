"""Rewrite: a table of delta-rs whose methods that write stored rows anew leave times as they are.

Plain Spark writes timestamps as INT96, Parquet's oldest kind, and delta-rs reads these as
nanoseconds: of years before 1677 and behind 2262 it would store others. So files with INT96 are
first written again, row by row at its place, in a commit that changes no data.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import deltalake
from deltalake.exceptions import CommitFailedError

from spark_jobs.errors import MaintenanceRefused
from spark_jobs.storage.root.path_forms import from_uri, sql_table
from spark_jobs.storage.root.store import opened
from spark_jobs.table.arrow_rows import parquet_file
from spark_jobs.table.delta.delta_log import Action, Log

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake.table import TableMerger, TableOptimizer
    from upath import UPath

LEGACY: Final = b"org.apache.spark.legacyINT96"
"""In the footer of a file whose times are of the Julian calendar."""
REMOVED: Final = ("path", "partitionValues", "size", "deletionVector", "tags")
"""What the remove of a file has of its add."""
AT_ONCE: Final = 8
"""Footers that are read at a time."""
_seen: dict[tuple[str, str], bool] = {}
"""Table and file -> whether it has INT96: a file never changes, and each is looked at once."""


class Table(deltalake.DeltaTable):
    """Each method that writes stored rows anew makes the table exact first. As all of these they
    raise CommitFailedError behind a foreign commit.
    """

    def merge(self, *args: Any, **named: Any) -> TableMerger:
        make_exact(self)
        return super().merge(*args, **named)

    def delete(self, *args: Any, **named: Any) -> dict[str, Any]:
        make_exact(self)
        return super().delete(*args, **named)

    def update(self, *args: Any, **named: Any) -> dict[str, Any]:
        make_exact(self)
        return super().update(*args, **named)

    @property
    def optimize(self) -> TableOptimizer:
        make_exact(self)
        return super().optimize


def overwrite(table: deltalake.DeltaTable, rows: pa.Table, where: str, **named: Any) -> None:
    """`write_deltalake` over the rows for which the condition holds."""
    make_exact(table)
    deltalake.write_deltalake(table, rows, mode="overwrite", predicate=where, **named)


def inexact(table: deltalake.DeltaTable) -> list[Action]:
    """The adds of the table's files that have INT96 timestamps."""
    if not _has_times(table):
        return []
    paths = table.get_add_actions().column("path").to_pylist()
    new = [path for path in paths if (table.table_uri, path) not in _seen]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        [*pool.map(lambda path: _is_old(table, path), new)]
    if not any(_is_old(table, path) for path in paths):
        return []
    files = Log.of(_folder(table)).replay(table.version()).added.values()
    return [file for file in files if _is_old(table, file["path"])]


def feeds_inexact(table: deltalake.DeltaTable, versions: Iterable[int]) -> bool:
    """Whether a file that these versions changed has INT96 timestamps."""
    log = Log.of(_folder(table))
    return _has_times(table) and any(
        _is_old(table, action[kind]["path"])
        for version in versions
        for action in log.commit(version)
        for kind in ("cdc", "add", "remove")
        if kind in action
    )


def make_exact(table: deltalake.DeltaTable) -> int:
    """Write files with INT96 again, with microseconds, in one commit behind the table's version, to
    which the table then moves. How many there were.

    Rows keep their places in a file, so deletion vectors and statistics stay. Raises
    CommitFailedError if another writer was faster, and MaintenanceRefused for what needs Spark.
    """
    if not (old := inexact(table)):
        return 0
    now, version = int(time.time() * 1000), table.version() + 1
    said = {"timestamp": now, "operation": "OPTIMIZE", "engineInfo": "sluice"}
    actions: list[Action] = [{"commitInfo": said | {"operationParameters": {"int96": "true"}}}]
    for file in old:
        gone = {"dataChange": False, "deletionTimestamp": now, "extendedFileMetadata": True}
        same = {name: file[name] for name in REMOVED if file.get(name) is not None}
        actions.append({"remove": same | gone})
        actions.append({"add": file | _rewritten(table, file) | {"modificationTime": now}})
    if not Log.of(_folder(table)).put(version, actions):
        raise CommitFailedError(f"version {version} of the table was written meanwhile")
    table.load_as_version(version)
    return len(old)


def place(table: deltalake.DeltaTable, path: str) -> UPath:
    """Where the file of that entry of the log is."""
    if "://" in path or path.startswith(("/", "file:")):
        return opened(from_uri(path))
    return _folder(table) / unquote(path)


def _folder(table: deltalake.DeltaTable) -> UPath:
    return opened(from_uri(table.table_uri))


def _has_times(table: deltalake.DeltaTable) -> bool:
    return '"timestamp"' in table.schema().to_json()


def _is_old(table: deltalake.DeltaTable, path: str) -> bool:
    if (known := _seen.get(asked := (table.table_uri, path))) is None:
        try:
            with parquet_file(place(table, path)) as file:
                known = _seen[asked] = "INT96" in _kinds(file.metadata)
        except FileNotFoundError:
            return False  # who reads its rows says so
    return known


def _kinds(footer: pq.FileMetaData) -> list[str]:
    return [footer.schema.column(n).physical_type for n in range(footer.num_columns)]


def _rewritten(table: deltalake.DeltaTable, file: Action) -> Action:
    """Write the file again; what of its add is another."""
    import pyarrow as pa  # noqa: PLC0415 - a plan reads no table
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    folder, slash, _ = file["path"].rpartition("/")
    path = f"{folder}{slash}part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    new = place(table, path)
    with parquet_file(place(table, file["path"])) as source:
        if LEGACY in (source.metadata.metadata or {}):
            raise _refusal(table, "a file has INT96 timestamps of the Julian calendar")
        kinds, exact = iter(_kinds(source.metadata)), pa.timestamp("us", "UTC")
        schema = _with_leaves(
            source.schema_arrow, lambda kind: exact if next(kinds) == "INT96" else kind
        )
        with new.open("wb") as out, pq.ParquetWriter(out, schema) as writer:
            for batch in source.iter_batches():
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
        _compare(table, source, new)
    return {"path": path, "size": new.stat().st_size, "dataChange": False}


def _with_leaves(schema: pa.Schema, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.Schema:
    """The schema where each type without parts is another."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    def of(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(kind):
            return pa.struct([each.with_type(of(each.type)) for each in kind])
        if pa.types.is_list(kind):
            return pa.list_(kind.value_field.with_type(of(kind.value_type)))
        if pa.types.is_map(kind):
            key = kind.key_field.with_type(of(kind.key_type))
            return pa.map_(key, kind.item_field.with_type(of(kind.item_type)))
        return leaf(kind)

    return pa.schema([each.with_type(of(each.type)) for each in schema], schema.metadata)


def _compare(table: deltalake.DeltaTable, source: pq.ParquetFile, new: Any) -> None:
    """Hold what was written against what was read."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    def told(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_floating(kind) else kind  # as a number, NaN equals none

    with parquet_file(new) as written:
        if _kinds(written.metadata).count("INT96") or written.metadata.num_rows != (
            source.metadata.num_rows
        ):
            raise _refusal(table, "a file with INT96 timestamps was not written again")
        texts = _with_leaves(written.schema_arrow, told)
        for old, again in zip(source.iter_batches(), written.iter_batches(), strict=True):
            if not old.cast(again.schema).cast(texts).equals(again.cast(texts)):
                raise _refusal(table, "a file with INT96 timestamps changed when written again")


def _refusal(table: deltalake.DeltaTable, why: str) -> MaintenanceRefused:
    place = from_uri(table.table_uri)
    return MaintenanceRefused.needs_spark(path=place, why=why, sql=sql_table(place))
