"""The rows of a state store as flat, named columns: Spark's structs taken apart, its numbers of milliseconds made times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column as Expression, DataFrame, functions as F
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from spark_jobs.contract.steps import Aggregate, Step
from spark_jobs.state.table import Role

BUFFERS = {
    "count": ("count",), "count_if": ("count",), "sum": ("sum",), "min": ("min",), "max": ("max",),
    "avg": ("sum", "count"), "mean": ("sum", "count"),
}
"""A SQL aggregate -> its buffer's fields in Spark (o.a.s.sql.catalyst.expressions.aggregate)."""


class Column(NamedTuple):
    """A column of a store."""

    name: str
    role: Role
    at: Expression
    type: DataType


def columns(rows: DataFrame, operator: str, step: Step | None, *, ttl: bool = False) -> list[Column]:
    """The columns of what spark.read.format("statestore") gives, key first. `operator` is Spark's name of it.

    `ttl` is whether the variable's values expire. Source: SchemaUtil.generateSchemaForStateVar and, for each operator, the
    schemas that its physical plan declares (StatefulOperator.validateAndMaybeEvolveStateSchema).
    """
    fields = {field.name: field.dataType for field in rows.schema.fields}
    key = _keys(_parts("key", "key", fields["key"]))
    names: dict[str, Role] = {"user_map_key": "map key", "user_map_value": "value", "list_element": "value", "value": "value"}
    values: list[Column] = []
    for name, role in names.items():
        if name in fields:
            parts = _parts(name, role, fields[name])
            values += _expiring(parts) if ttl and role == "value" else parts
    if "expiration_timestamp_ms" in fields:
        values.append(_moment("due", F.col("expiration_timestamp_ms")))
    if operator.startswith("dedupe"):
        values = _until(values)
    elif operator.endswith("WithState") and "groupState" in {value.name for value in values}:
        values = _grouped(values)
    elif isinstance(step, Aggregate):  # no other step has names for what it stores: Spark's are in its schema
        key, values = _aggregated(key, values, step)
    return key + values


def _parts(name: str, role: Role, struct: DataType) -> list[Column]:
    """A struct's fields. By place: the buffers of two counts are both called count."""
    return _fields(F.col(name), role, struct)


def _fields(at: Expression, role: Role, struct: DataType) -> list[Column]:
    assert isinstance(struct, StructType)
    numbered = StructType([StructField(f"f{place}", field.dataType) for place, field in enumerate(struct.fields)])
    apart = at.cast(numbered)
    return [Column(field.name, role, apart.getField(f"f{place}"), field.dataType) for place, field in enumerate(struct.fields)]


def _moment(name: str, milliseconds: Expression) -> Column:
    """A time in milliseconds; null where Spark has -1 or nothing."""
    return Column(name, "value", F.when(milliseconds >= 0, F.timestamp_millis(milliseconds)), TimestampType())


def _window(column: Column) -> list[Column]:
    start, end = _fields(column.at, column.role, column.type)
    return [start._replace(name="window_start"), end._replace(name="window_end")]


def _keys(key: list[Column]) -> list[Column]:
    """With a window as two columns, as in the output."""
    found: list[Column] = []
    for column in key:
        is_window = column.name == "window" and isinstance(column.type, StructType)
        found += _window(column) if is_window else [column]
    return found


def _until(values: list[Column]) -> list[Column]:
    """Of a deduplication: until when the key is remembered; nothing where only its presence counts (`__dummy__`)."""
    return [
        column._replace(name="expires_at", at=F.timestamp_micros(column.at), type=TimestampType())
        for column in values if column.name == "expiresAtMicros"
    ]


def _expiring(parts: list[Column]) -> list[Column]:
    """A variable with a TTL wraps its value."""
    value, expires = parts
    return [*_fields(value.at, value.role, value.type), _moment("expires_at", expires.at)]


def _grouped(values: list[Column]) -> list[Column]:
    """applyInPandasWithState keeps one struct a key, and its timeout."""
    state, *timeout = values
    return [*_fields(state.at, state.role, state.type), *(_moment("timeout_at", column.at) for column in timeout)]


def _aggregated(key: list[Column], values: list[Column], step: Aggregate) -> tuple[list[Column], list[Column]]:
    """Keys in the output's order, buffers by their measures' names. A session repeats its keys and bounds in its value."""
    key = [column._replace(name="window_start") if column.name == "sessionStartTime" else column for column in key]
    order = {name: place for place, name in enumerate(step.group)}
    key.sort(key=lambda column: order.get(column.name, len(order)))
    end: list[Column] = []
    if values and values[0].name == "session_window":
        end = _window(values[0])[1:]
        values = values[len(key) :]  # the session's bounds and all keys but its start, which are as many
    names = buffer_names(step.measures, [column.name for column in values])
    return key, end + [column._replace(name=name) for name, column in zip(names, values, strict=True)]


def buffer_names(measures: Mapping[str, str], stored: Sequence[str]) -> list[str]:
    """Names for an aggregation's buffers, given Spark's. A measure with one buffer gives it its name; one with more, a prefix.

    Spark stores buffers in the measures' order, equal aggregates once. Where a measure is more than one plain aggregate, or two
    share one, which buffer is whose cannot be told from here: then the names are Spark's own, numbered where they repeat.
    """
    named: list[str] = []
    expected: list[str] = []
    for measure, sql in measures.items():
        buffers = BUFFERS.get(_only_call(sql), ("?",))
        expected += buffers
        named += [measure] if len(buffers) == 1 else [f"{measure}.{buffer}" for buffer in buffers]
    if expected == list(stored):
        return named
    return [f"{name}#{stored[: place + 1].count(name)}" if stored.count(name) > 1 else name
            for place, name in enumerate(stored)]


def _only_call(sql: str) -> str:
    """The function's name where the expression is a single call of it; otherwise empty."""
    call = re.fullmatch(r"\s*([a-z_]+)\s*\((.*)\)\s*", sql, re.IGNORECASE | re.DOTALL)
    if call is None:
        return ""
    depth = 0
    for character in call[2]:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return ""
    return call[1].lower()
