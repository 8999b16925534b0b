"""Reads state stores with Spark's data sources state-metadata and statestore, which open a copy of
a store's files. A GroupState in buckets is given a row for each key, as other forms store it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame, Observation, Row, SparkSession, functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.errors import StateUnreadable
from spark_jobs.spec.steps.expires import Variable
from spark_jobs.spec.steps.step import Step
from spark_jobs.state.keys import parse
from spark_jobs.state.table import StoreColumn, Stores, Table, start_coordinator, store_columns
from spark_jobs.steps.bucket_processor import STATE, to_table, unpack
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.values.conversions import spark_type
from spark_jobs.values.spark_times import literal

if TYPE_CHECKING:
    from spark_jobs.spec.steps.step import Bucketed


def by_key(stored: DataFrame, buckets: Bucketed) -> DataFrame:
    """The state variable's rows, one a bucket, as rows of the structs key and value, one a key."""
    packed = stored.select(F.col("value.columns").alias("rows"))
    flat = packed.mapInArrow(functools.partial(unpack, column="rows"), _schema(packed, buckets))
    state = [field.name for field in buckets.state]
    return flat.select(F.struct(*buckets.keys).alias("key"), F.struct(*state).alias("value"))


def _schema(packed: DataFrame, buckets: Bucketed) -> StructType:
    """Of a state without keys it is not known which types they would have."""
    first = packed.first()
    if first is not None:
        return from_arrow_schema(to_table([first.rows]).schema)
    keys = [StructField(name, StringType()) for name in buckets.keys]
    return StructType(
        [*keys, *(StructField(field.name, spark_type(field.type)) for field in buckets.state)]
    )


TIMERS = {
    "$eventTimers_keyToTimestamp": "event-time timers",
    "$procTimers_keyToTimestamp": "processing-time timers",
}
"""Spark's column families of timers (TimerStateImpl) -> description.

Spark's other families that begin with $ are internal.
"""


SIDES = ("left", "right")
"""Of a join, as Spark calls them."""


class StateOperator(NamedTuple):
    """A stateful operator of the checkpoint.

    Spark numbers operators from the sink to the source.
    """

    id: int
    name: str
    partitions: int
    variables: tuple[Variable, ...]


def operators(spark: SparkSession, checkpoint: SparkPath, batch: int) -> list[StateOperator]:
    """The stateful operators of a batch, from the source to the sink: the order of the spec's
    steps.
    """
    start_coordinator(spark)
    rows = spark.read.format("state-metadata").option("batchId", batch).load(checkpoint).collect()
    by_id = {
        row.operatorId: StateOperator(
            row.operatorId, row.operatorName, row.numPartitions, _variables(row)
        )
        for row in rows
    }
    return [by_id[number] for number in sorted(by_id, reverse=True)]


def _variables(row: Row) -> tuple[Variable, ...]:
    if row.operatorName == "symmetricHashJoin":
        return tuple(Variable(side, side) for side in SIDES)
    properties = json.loads(row.operatorProperties or "{}")
    if "stateVariables" not in properties:
        return (Variable("", row.operatorName),)
    entries = properties["stateVariables"]
    stored = [
        Variable(entry["stateName"], entry["stateVariableType"], entry["ttlEnabled"])
        for entry in entries
    ]
    declared = sorted(variable for variable in stored if not variable.name.startswith("$"))
    timers = (Variable(TIMERS[name], kind) for name, kind, _ in stored if name in TIMERS)
    return (*declared, *timers)


def read(
    spark: SparkSession,
    checkpoint: SparkPath,
    batch: int,
    operator: StateOperator,
    variable: Variable,
    step: Step | None,
    keys: Mapping[str, str],
    limit: int,
) -> Table:
    """The first `limit` rows, ordered by key, that match `keys` (column -> text).

    Elements of a list keep their order.

    Raises StateUnreadable if a column is not in the key, or if its text does not parse.
    """
    stored, columns = opened(spark, checkpoint, batch, operator, variable, step)
    flat = stored.select(
        *(column.expression.alias(f"c{index}") for index, column in enumerate(columns)),
        F.monotonically_increasing_id().alias("position"),
    )
    counted = Observation()
    rows = _matching(flat, columns, keys).observe(counted, F.count(F.lit(1)).alias("rows"))
    order = [
        f"c{index}"
        for index, column in enumerate(columns)
        if column.role != "value" or variable.kind == "TimerState"
    ]
    first = rows.orderBy(*order, "position").limit(limit).collect()
    return Table(
        variable,
        tuple((column.name, column.role) for column in columns),
        tuple(tuple(map(_zoned, row[:-1])) for row in first),
        counted.get["rows"],
    )


def opened(
    spark: SparkSession,
    checkpoint: SparkPath,
    batch: int,
    operator: StateOperator,
    variable: Variable,
    step: Step | None,
) -> tuple[DataFrame, list[StoreColumn]]:
    """All rows of a variable, and the columns that can be selected of them."""
    options = dict[str, str]()
    if variable.kind in SIDES:
        options["joinSide"] = variable.kind
    elif variable.kind == "TimerState":
        options["readRegisteredTimers"] = "true"
    elif variable.name:
        options["stateVarName"] = variable.name
    stored = Stores(spark, checkpoint, batch).rows(operator.id, **options)
    if step and step.bucketed:
        stored = by_key(stored, step.bucketed)
    return stored, store_columns(stored, operator.name, step, ttl=variable.ttl)


def shown(variables: Sequence[Variable], step: Step) -> list[Variable]:
    """The variables to read: of buckets the state of their keys, and not how many they have; of a
    step that takes inputs apart the rows of each.
    """
    if tuple(each.kind for each in variables) == SIDES:
        return [Variable(of, side) for of, side in zip(step.takes, SIDES, strict=True)]
    return [each for each in variables if not step.bucketed or each.name == STATE]


def _matching(flat: DataFrame, columns: list[StoreColumn], keys: Mapping[str, str]) -> DataFrame:
    for name, text in keys.items():
        # By name, whatever the role: the end of a session is a key column of the spec, but not of
        # Spark's key.
        index = next((index for index, column in enumerate(columns) if column.name == name), None)
        if index is None:
            key = ", ".join(column.name for column in columns if column.role == "key")
            raise StateUnreadable.key_column_absent(name=name, key=key)
        kind = columns[index].type
        flat = flat.where(
            F.col(f"c{index}") == literal(parse(name, text, kind.simpleString())).cast(kind)
        )
    return flat


def _zoned(value: Any) -> Any:
    # Any: a value of a Spark Row. Its timestamps have no zone. They are in the process's zone;
    # submit and main set it to UTC.
    return (
        value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
    )
