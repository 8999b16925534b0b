"""Rows of an ops table as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from spark_jobs.ops.schema import Row


def arrow(rows: list[Row] | pa.Table, schema: pa.Schema, table: str) -> pa.Table:
    """The rows with the columns of the ops table, in their order.

    Raises ValueError if rows have a column that the table lacks: Arrow would drop it silently.
    """
    if not isinstance(rows, list):
        return rows.cast(schema)
    surplus = sorted(_surplus(rows, schema))
    if surplus:
        message = f"ops.{table} has no column {', '.join(surplus)}: its values would be lost"
        raise ValueError(message)
    return pa.Table.from_pylist(rows, schema)


def _surplus(rows: list[Row], fields: Iterable[pa.Field]) -> set[str]:
    known = {field.name: field.type for field in fields}
    surplus = {name for row in rows for name in row.keys() - known.keys()}
    for name, kind in known.items():
        if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            parts = [part for row in rows for part in row.get(name) or ()]
            surplus |= {f"{name}.{part}" for part in _surplus(parts, kind.value_type)}
    return surplus
