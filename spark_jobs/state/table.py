"""Rows that were read from a step's state, flattened to named columns: structs to their fields,
milliseconds to times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, functions as F
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from spark_jobs.spec.steps.expires import Variable
from spark_jobs.spec.steps.step import Step
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.values.own_columns import own

Role = Literal["key", "map key", "value"]
"""key and map key identify a row; value is the stored value."""
Row = tuple[Any, ...]  # Any: the values of a Spark Row


class Table(NamedTuple):
    """Rows of one variable; timestamps have a zone.

    `total` also counts rows that were not fetched.
    """

    variable: Variable
    columns: tuple[tuple[str, Role], ...]
    rows: tuple[Row, ...]
    total: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def parts(self, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
        """The key columns and the value columns of a row: column -> value."""
        keys: dict[str, Any] = {}
        values: dict[str, Any] = {}
        for (name, role), value in zip(self.columns, row, strict=True):
            (values if role == "value" else keys)[name] = value
        return keys, values


BUFFERS = {
    "count": ("count",),
    "count_if": ("count",),
    "sum": ("sum",),
    "min": ("min",),
    "max": ("max",),
    "avg": ("sum", "count"),
    "mean": ("sum", "count"),
}
"""SQL aggregate -> the fields of its buffer in Spark (o.a.s.sql.catalyst.expressions.aggregate)."""


class StoreColumn(NamedTuple):
    """A flat column of a state store."""

    name: str
    role: Role
    expression: Column
    type: DataType


def start_coordinator(spark: SparkSession) -> None:
    """Start the StateStoreCoordinator, without which the readers fail (SPARK-58973)."""
    _ = spark.streams.active


class Stores(NamedTuple):
    """The stores of all steps with state, after a batch."""

    spark: SparkSession
    checkpoint: SparkPath
    batch: int

    def rows(self, operator: int, **options: str) -> DataFrame:
        """Those of a step, as Spark's source of them gives them.

        `operator` is its number in Spark: from the sink to the source, from 0. `options`: the
        source's others (StateSourceOptions).
        """
        start_coordinator(self.spark)
        source = self.spark.read.format("statestore").option("batchId", self.batch)
        return source.option("operatorId", operator).options(**options).load(self.checkpoint)


def store_columns(
    rows: DataFrame, operator: str, step: Step | None, *, ttl: bool = False
) -> list[StoreColumn]:
    """The columns of the rows that Stores gives, key columns first.

    `operator` is its name in Spark.

    `ttl` says whether the variable's values expire. Source: SchemaUtil.generateSchemaForStateVar
    and, for each operator, the schemas that its physical plan declares
    (StatefulOperator.validateAndMaybeEvolveStateSchema).
    """
    fields = {field.name: field.dataType for field in rows.schema.fields}
    key = _keys(_parts("key", "key", fields["key"]))
    names: dict[str, Role] = {
        "user_map_key": "map key",
        "user_map_value": "value",
        "list_element": "value",
        "value": "value",
    }
    values: list[StoreColumn] = []
    for name, role in names.items():
        if name in fields:
            parts = _parts(name, role, fields[name])
            values += _expiring(parts) if ttl and role == "value" else parts
    if "expiration_timestamp_ms" in fields:
        values.append(_timestamp("due", F.col("expiration_timestamp_ms")))
    if operator.startswith("dedupe"):
        values = _expiry(values)
    elif operator.endswith("WithState") and "groupState" in {value.name for value in values}:
        values = _state_and_timeout(values)
    elif step and operator == "symmetricHashJoin":
        key, values = _joined(values, step.grouping_keys or ())
    elif step and step.aggregates:  # for other steps, the names in Spark's schema are used
        key, values = _aggregated(key, values, step.row_key or (), step.aggregates)
    return key + values


def _parts(name: str, role: Role, struct: DataType) -> list[StoreColumn]:
    return _fields(F.col(name), role, struct)


def _fields(at: Column, role: Role, struct: DataType) -> list[StoreColumn]:
    """By position: the buffers of two counts both have the name count."""
    assert isinstance(struct, StructType)
    numbered = StructType(
        [StructField(f"f{index}", field.dataType) for index, field in enumerate(struct.fields)]
    )
    by_position = at.cast(numbered)
    return [
        StoreColumn(field.name, role, by_position.getField(f"f{index}"), field.dataType)
        for index, field in enumerate(struct.fields)
    ]


def _timestamp(name: str, milliseconds: Column) -> StoreColumn:
    return StoreColumn(
        name, "value", F.when(milliseconds >= 0, F.timestamp_millis(milliseconds)), TimestampType()
    )


def _window(column: StoreColumn) -> list[StoreColumn]:
    start, end = _fields(column.expression, column.role, column.type)
    return [start._replace(name="window_start"), end._replace(name="window_end")]


def _keys(key: list[StoreColumn]) -> list[StoreColumn]:
    columns: list[StoreColumn] = []
    for column in key:
        is_window = column.name == "window" and isinstance(column.type, StructType)
        columns += _window(column) if is_window else [column]
    return columns


def _expiry(values: list[StoreColumn]) -> list[StoreColumn]:
    """For a deduplication. No column if Spark stores only the key's presence (`__dummy__`)."""
    return [
        column._replace(
            name="expires_at",
            expression=F.timestamp_micros(column.expression),
            type=TimestampType(),
        )
        for column in values
        if column.name == "expiresAtMicros"
    ]


def _expiring(parts: list[StoreColumn]) -> list[StoreColumn]:
    """For a variable with a TTL: Spark stores a struct of the value and its expiry."""
    value, expires = parts
    return [
        *_fields(value.expression, value.role, value.type),
        _timestamp("expires_at", expires.expression),
    ]


def _state_and_timeout(values: list[StoreColumn]) -> list[StoreColumn]:
    """For applyInPandasWithState: Spark stores one struct for each key, and its timeout."""
    state, *timeout = values
    timeouts = [_timestamp("timeout_at", column.expression) for column in timeout]
    return [*_fields(state.expression, state.role, state.type), *timeouts]


def _joined(
    values: list[StoreColumn], on: Sequence[str]
) -> tuple[list[StoreColumn], list[StoreColumn]]:
    """Of one side of a join: Spark repeats its key in the row, where it has a name."""
    names = {name: name for name in on}
    names |= {own(f"on_{number}"): name for number, name in enumerate(sorted(on))}
    key = [
        column._replace(name=names[column.name], role="key")
        for column in values
        if column.name in names
    ]
    return key, [column for column in values if column.name not in names]


def _aggregated(
    key: list[StoreColumn],
    values: list[StoreColumn],
    group: Sequence[str],
    measures: Mapping[str, str],
) -> tuple[list[StoreColumn], list[StoreColumn]]:
    """Keys in the output's order. A session's value repeats its keys and bounds."""
    key = [
        column._replace(name="window_start") if column.name == "sessionStartTime" else column
        for column in key
    ]
    order = {name: index for index, name in enumerate(group)}
    key.sort(key=lambda column: order.get(column.name, len(order)))
    end: list[StoreColumn] = []
    if values and values[0].name == "session_window":
        end = _window(values[0])[1:]
        values = values[
            len(key) :
        ]  # skips the session and all keys but its start: as many columns as the key has
    names = buffer_names(measures, [column.name for column in values])
    return key, end + [
        column._replace(name=name) for name, column in zip(names, values, strict=True)
    ]


def buffer_names(measures: Mapping[str, str], stored: Sequence[str]) -> list[str]:
    """The names of an aggregation's buffers. `stored` are Spark's names of them.

    A measure's only buffer gets the measure's name. If a measure has several, its name is their
    prefix. Spark stores buffers in the order of the measures, and equal aggregates once. If a
    measure is not one plain aggregate, or two measures share one, the measure of a buffer is
    unknown. Then the names are Spark's, with a number if they repeat.
    """
    names: list[str] = []
    expected: list[str] = []
    for measure, sql in measures.items():
        buffers = BUFFERS.get(_only_call(sql), ("?",))
        expected += buffers
        names += [measure] if len(buffers) == 1 else [f"{measure}.{buffer}" for buffer in buffers]
    if expected == list(stored):
        return names
    return [
        f"{name}#{stored[: index + 1].count(name)}" if stored.count(name) > 1 else name
        for index, name in enumerate(stored)
    ]


def _only_call(sql: str) -> str:
    call = re.fullmatch(r"\s*([a-z_]+)\s*\((.*)\)\s*", sql, re.IGNORECASE | re.DOTALL)
    if call is None:
        return ""
    depth = 0
    for character in call[2]:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return ""
    return call[1].lower()
