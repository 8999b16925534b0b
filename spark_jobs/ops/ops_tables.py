"""Ops tables: Delta tables about Sluice's runs, partitioned by pipeline, written and read without a
JVM.

All rows of a batch are replaced at once, so writing them again after a crash changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import deltalake
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from spark_jobs.errors import OpsUnreadable
from spark_jobs.ops.results import Asked, Version, kept
from spark_jobs.storage.root.path_forms import delta_path
from spark_jobs.storage.root.store import translate_store_error
from spark_jobs.table.delta import door, rewrite
from spark_jobs.table.delta.answer import aside, streamed

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.lease_view import Held

ROW_GROUP = 20_000
"""Rows that the writer of many keeps until it writes them."""
FILE = 16_000_000
"""Bytes. It keeps a file until it is whole."""
CHECKPOINTS = {"delta.checkpointInterval": "20"}
"""A run opens these tables a dozen times, and delta-rs reads each commit behind the checkpoint by a
thread of its own: at 60 an append and a query take 63 ms of the processor, at 20 some 12. To write
a checkpoint takes as long as one of them.
"""


@door.patiently
def append(root: UPath, table: str, rows: list[Row] | pa.Table) -> None:
    """Add rows: dicts or an Arrow table, with columns of ops/schema.py.

    Raises ValueError for an unknown column.
    """
    deltalake.write_deltalake(
        path := delta_path(made(root, table)),
        _arrow(table, rows),
        mode="append",
        schema_mode="merge",  # an older Sluice made the table with fewer columns
        storage_options=door.options(path),
    )


@door.patiently
def replace(
    root: UPath, table: str, rows: list[Row] | pa.Table, where: str, held: Held | None = None
) -> None:
    """Replace all rows for which the SQL condition holds, in one commit, also if there are none.
    `held` is the lease that protects them, if one does.

    Raises ValueError for an unknown column; LeaseLost.
    """
    rewrite.overwrite(
        door.confirmed(made(root, table), held),
        _arrow(table, rows),
        where,
        schema_mode="merge",
        commit_properties=door.ours(held),
    )


@door.patiently
def replace_parts(
    root: UPath,
    table: str,
    parts: Callable[[], Iterator[pa.RecordBatch]],
    where: str,
    held: Held,
) -> None:
    """What `replace` does, with parts that have all columns of ops/schema.py: of any number of
    rows, some thousand in memory. `parts` is called again if it must be tried again.
    """
    rewrite.overwrite(
        door.confirmed(made(root, table), held),
        aside(_schema(table), parts()),
        where,
        schema_mode="merge",
        writer_properties=deltalake.WriterProperties(max_row_group_size=ROW_GROUP),
        target_file_size=FILE,
        commit_properties=door.ours(held),
    )


@door.patiently
def add_files(root: UPath, table: str, pipeline: str, folder: UPath) -> None:
    """Add the Parquet files of a folder within the pipeline's partition, in one commit. Before it,
    columns that an older Sluice's table lacks: nobody would see what the files have there.

    They have all columns but `pipeline`. Nothing is committed if there are none.
    """
    path = made(root, table)
    files = [file for file in folder.iterdir() if file.suffix == ".parquet"]
    actions: list[AddAction | RemoveAction] = [
        AddAction(
            path="/".join(file.parts[-3:]),
            size=file.stat().st_size,
            partition_values={"pipeline": pipeline},
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats="{}",
        )
        for file in files
    ]
    if actions:
        stored = _widened(path, table)
        stored.create_write_transaction(actions, "append", stored.schema(), ["pipeline"])


def _widened(path: UPath, table: str) -> deltalake.DeltaTable:
    stored = door.open_table(path)
    known = {field.name for field in stored.schema().fields}
    wanted = deltalake.Schema.from_arrow(_schema(table)).fields
    if missing := [field for field in wanted if field.name not in known]:
        stored.alter.add_columns(missing)
        stored = door.open_table(path)
    return stored


@door.patiently
def set_checkpoints(path: UPath) -> None:
    """Let a table that an older Sluice has made have CHECKPOINTS."""
    stored = door.open_table(path)
    if not CHECKPOINTS.items() <= stored.metadata().configuration.items():
        door.set_properties(stored, CHECKPOINTS)


def remove_after(
    root: UPath,
    table: str,
    pipeline: str,
    generations: Iterable[str],
    batch_id: int,
    held: Held,
) -> None:
    """Remove the rows of these generations' later batches, in one commit."""
    where = f"{of_checkpoint(pipeline, generations)} AND batch_id > {batch_id}"
    remove(root, table, where, held)


def equals(where: Mapping[str, str | int]) -> str:
    """The SQL condition for rows whose columns have these values.

    >>> equals({"pipeline": "flights", "batch_id": 7})
    "pipeline = 'flights' AND batch_id = 7"
    """
    return " AND ".join(f"{name} = {_literal(value)}" for name, value in where.items())


def among(column: str, values: Iterable[str]) -> str:
    """The SQL condition for rows in which the column has one of these values; there is one at
    least.

    >>> among("generation", ("g1", "g2"))
    "generation IN ('g1', 'g2')"
    """
    return f"{column} IN ({', '.join(map(_literal, values))})"


def of_checkpoint(pipeline: str, generations: Iterable[str]) -> str:
    """The SQL condition for the rows of a pipeline's generations."""
    return f"{equals({'pipeline': pipeline})} AND {among('generation', generations)}"


def remove(root: UPath, table: str, where: str, held: Held | None = None) -> None:
    """Remove the rows for which the SQL condition holds, in one commit."""
    replace(root, table, [], where, held)


def query(root: UPath, table: str, sql: str, *others: str) -> pa.Table:
    """Run SQL (DataFusion's) on the ops table, by its name; `others` are those that it names too.

    A table that does not exist is empty, and is not created. Raises OpsUnreadable, RootRefused,
    RootUnreachable.
    """
    asked = _asked(root, (table, *others), sql)
    if asked.key is None:
        return asked.run().read_all()
    with _told(OpsUnreadable.file_broken, asked.paths):
        return kept(asked.key, lambda: asked.run().read_all())


def stream(root: UPath, table: str, sql: str, *others: str) -> Iterator[pa.RecordBatch]:
    """What query returns, some thousand rows after the others: of any number. Raises as it does."""
    if exists(root, table):
        asked = _asked(root, (table, *others), sql)
        with _told(OpsUnreadable.file_broken, asked.paths):
            yield from asked.run()


class _Query(NamedTuple):
    """The SQL, and the tables by the names that it has for them."""

    sql: str
    tables: Mapping[str, deltalake.DeltaTable]
    key: Asked | None
    """None if none of the tables exists: nobody has asked much then."""

    @property
    def paths(self) -> str:
        """Of the tables that exist."""
        there = self.key.tables if self.key else ()
        return " or ".join(each.path for each in there if each.version >= 0)

    def run(self) -> pa.RecordBatchReader:
        return streamed(self.sql, self.tables)


def _asked(root: UPath, names: Sequence[str], sql: str) -> _Query:
    tables, older, versions = dict[str, deltalake.DeltaTable](), [], list[Version]()
    for name in names:
        path = delta_path(root / "ops" / name)
        if door.is_table(path):
            with _told(OpsUnreadable.log_broken, path):
                stored = door.open_table(path)
            versions.append(Version(path, str(stored.metadata().id), stored.version()))
        else:
            stored = _without_rows(name)
            versions.append(Version(path, "", -1))
        has = {field.name for field in stored.schema().fields}
        # An older Sluice wrote it, and no run of this one has written to it yet.
        lacks = [f'NULL AS "{each}"' for each in _schema(name).names if each not in has]
        tables[f"older_{name}" if lacks else name] = stored
        if lacks:
            older.append(f"{name} AS (SELECT *, {', '.join(lacks)} FROM older_{name})")
    whole = f"WITH {', '.join(older)} {sql}" if older else sql
    known = any(each.version >= 0 for each in versions)
    return _Query(whole, tables, Asked(tuple(versions), whole) if known else None)


@contextmanager
def _told(damaged: Callable[..., OpsUnreadable], path: str) -> Iterator[None]:
    """Whether it was the store within the block, or damage: delta-rs and Arrow raise these."""
    try:
        yield
    except (DeltaError, OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise translate_store_error(error, path) or damaged(path=path, error=first) from error


@cache
def _without_rows(table: str) -> deltalake.DeltaTable:
    """In the place of one that does not exist. It is opened, and its files are gone."""
    with TemporaryDirectory() as folder:
        _create(folder, table)
        return door.open_table(folder)


def exists(root: UPath, table: str) -> bool:
    """Whether anything has been written to the ops table."""
    return door.is_table(root / "ops" / table)


def made(root: UPath, table: str) -> UPath:
    """The path of the ops table, which is created if it does not exist."""
    path = root / "ops" / table
    if not door.is_table(path):
        _create(path, table)
    return path


def _create(path: UPath | str, table: str) -> None:
    deltalake.DeltaTable.create(
        delta_path(path),
        _schema(table),
        partition_by=["pipeline"],
        configuration=CHECKPOINTS,
        mode="ignore",
        storage_options=door.options(path),
    )


def _schema(table: str) -> pa.Schema:
    from spark_jobs.ops.schema import SCHEMAS  # noqa: PLC0415 - pyarrow: a plan with nothing new needs none

    return SCHEMAS[table]


def _arrow(table: str, rows: list[Row] | pa.Table) -> pa.Table:
    from spark_jobs.ops.rows import arrow  # noqa: PLC0415 - as above

    return arrow(rows, _schema(table), table)


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
