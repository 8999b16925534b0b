"""Ops tables: tables about Sluice's runs, by their names, parted by pipeline, written and read
without a JVM.

All rows of a batch are replaced at once, so writing them again after a crash changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from spark_jobs.ops.results import Asked, Version, kept
from spark_jobs.table.shared import table as shared
from spark_jobs.table.shared.sql import Query

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.lease_view import Held


def append(root: UPath, table: str, rows: list[Row] | pa.Table) -> None:
    """Add rows: dicts or an Arrow table, with columns of ops/schema.py.

    Raises ValueError for an unknown column.
    """
    shared.append(made(root, table), _arrow(table, rows))


def replace(
    root: UPath, table: str, rows: list[Row] | pa.Table, where: str, held: Held | None = None
) -> None:
    """Replace all rows for which the SQL condition holds, in one commit, also if there are none.
    `held` is the lease that protects them, if one does.

    Raises ValueError for an unknown column; LeaseLost.
    """
    shared.replace(made(root, table), _arrow(table, rows), where, held)


def replace_parts(
    root: UPath, table: str, parts: Callable[[], Iterator[pa.RecordBatch]], where: str, held: Held
) -> None:
    """What `replace` does, with parts that have all columns of ops/schema.py: of any number of
    rows, some thousand in memory. `parts` is called again if it must be tried again.
    """
    shared.replace_parts(made(root, table), _schema(table), parts, where, held)


def add_files(root: UPath, table: str, pipeline: str, folder: UPath) -> None:
    """Add the Parquet files of a folder within the pipeline's part, in one commit.

    They have all columns but `pipeline`. Nothing is committed if there are none.
    """
    shared.add_files(made(root, table), _schema(table), pipeline, folder)


def remove_after(
    root: UPath, table: str, pipeline: str, generations: Iterable[str], batch_id: int, held: Held
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
    asked = _query(root, sql, table, *others)

    def answer() -> pa.Table:
        with asked.read() as found:
            return found.read_all()

    versions = tuple(Version(*each) for each in asked.versions)
    made = any(each.version >= 0 for each in versions)  # nobody has asked much of others
    return kept(Asked(versions, asked.sql), answer) if made else answer()


def stream(root: UPath, table: str, sql: str, *others: str) -> Iterator[pa.RecordBatch]:
    """What query returns, some thousand rows after the others: of any number. Raises as it does."""
    if exists(root, table):
        with _query(root, sql, table, *others).read() as found:
            yield from found


def _query(root: UPath, sql: str, *names: str) -> Query:
    return Query.of(sql, {name: root / "ops" / name for name in names}, _schema)


def exists(root: UPath, table: str) -> bool:
    """Whether anything has been written to the ops table."""
    return shared.is_there(root / "ops" / table)


def made(root: UPath, table: str) -> UPath:
    """The path of the ops table, which is created if it does not exist."""
    path = root / "ops" / table
    if not shared.is_there(path):
        shared.make(path, _schema(table))
    return path


def _schema(table: str) -> pa.Schema:
    from spark_jobs.ops.schema import SCHEMAS  # noqa: PLC0415 - pyarrow: a plan with nothing new needs none

    return SCHEMAS[table]


def _arrow(table: str, rows: list[Row] | pa.Table) -> pa.Table:
    from spark_jobs.ops.rows import arrow  # noqa: PLC0415 - as above

    return arrow(rows, _schema(table), table)


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
