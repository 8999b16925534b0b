"""Ops tables: Delta tables about Sluice's runs, partitioned by pipeline, written and read without a
JVM.

All rows of a batch are replaced at once, so writing them again after a crash changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
from deltalake.exceptions import CommitFailedError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.storage import delta

if TYPE_CHECKING:
    from upath import UPath

# Two pipelines may commit to one ops table at the same time. delta-rs then refuses the second,
# which is retried.
_patiently = retry(
    retry=retry_if_exception_type(CommitFailedError),
    wait=wait_random_exponential(multiplier=0.1, max=5),
    stop=stop_after_attempt(10),
    reraise=True,
)


@_patiently
def append(root: UPath, table: str, rows: list[dict[str, Any]] | pa.Table) -> None:
    """Add rows: dicts or an Arrow table, with columns of ops/schema.py.

    Raises ValueError for an unknown column.
    """
    deltalake.write_deltalake(
        path := str(_made(root, table)),
        _arrow(table, rows),
        mode="append",
        storage_options=delta.options(path),
    )


@_patiently
def replace(
    root: UPath, table: str, rows: list[dict[str, Any]] | pa.Table, **where: str | int
) -> None:
    """Replace all rows whose columns equal `where`, in one commit.

    Raises ValueError for an unknown column.
    """
    predicate = " AND ".join(f"{name} = {_literal(value)}" for name, value in where.items())
    deltalake.write_deltalake(
        path := str(_made(root, table)),
        _arrow(table, rows),
        mode="overwrite",
        predicate=predicate,
        storage_options=delta.options(path),
    )


@_patiently
def remove_after(root: UPath, table: str, pipeline: str, generation: str, batch_id: int) -> None:
    """Remove the rows of a generation's later batches, in one commit."""
    where = (
        f"pipeline = {_literal(pipeline)} AND generation = {_literal(generation)} AND "
        f"batch_id > {batch_id}"
    )
    delta.open_table(_made(root, table)).delete(where)


def query(root: UPath, table: str, sql: str) -> pa.Table:
    """Run SQL (DataFusion's) on the ops table, by its name.

    A table that does not exist is empty, and is not created.
    """
    path = str(root / "ops" / table)
    if delta.is_table(path):
        return _select(path, table, sql)
    with TemporaryDirectory() as empty:
        _create(empty, table)
        return _select(empty, table, sql)


def _select(path: str, table: str, sql: str) -> pa.Table:
    return pa.table(
        deltalake.QueryBuilder().register(table, delta.open_table(path)).execute(sql).read_all()
    )


def _made(root: UPath, table: str) -> UPath:
    path = root / "ops" / table
    if not delta.is_table(path):
        _create(str(path), table)
    return path


def _create(path: str, table: str) -> None:
    deltalake.DeltaTable.create(
        path,
        SCHEMAS[table],
        partition_by=["pipeline"],
        mode="ignore",
        storage_options=delta.options(path),
    )


def _arrow(table: str, rows: list[dict[str, Any]] | pa.Table) -> pa.Table:
    """Raises ValueError if rows have a column that the table lacks: Arrow would drop it
    silently.
    """
    if not isinstance(rows, list):
        return rows.cast(SCHEMAS[table])
    surplus = sorted(_surplus(rows, SCHEMAS[table]))
    if surplus:
        message = f"ops.{table} has no column {', '.join(surplus)}: its values would be lost"
        raise ValueError(message)
    return pa.Table.from_pylist(rows, SCHEMAS[table])


def _surplus(rows: list[dict[str, Any]], fields: Iterable[pa.Field]) -> set[str]:
    """Names in the rows that are not in `fields`, also within the structs of a list."""
    known = {field.name: field.type for field in fields}
    surplus = {name for row in rows for name in row.keys() - known.keys()}
    for name, kind in known.items():
        if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            parts = [part for row in rows for part in row.get(name) or ()]
            surplus |= {f"{name}.{part}" for part in _surplus(parts, kind.value_type)}
    return surplus


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
