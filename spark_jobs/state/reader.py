"""Reads state stores with Spark's own readers, state-metadata and statestore: they copy a store's files and open the copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation, SparkSession, functions as F

from spark_jobs.contract.errors import StateUnreadable
from spark_jobs.contract.steps import Step
from spark_jobs.state.columns import Column, columns
from spark_jobs.state.literal import parse
from spark_jobs.state.table import Table, Variable

TIMERS = {"$eventTimers_keyToTimestamp": "event-time timers", "$procTimers_keyToTimestamp": "processing-time timers"}
"""Spark's column families of timers (TimerStateImpl) and what they are. Its others, which begin with $ too, are bookkeeping."""


class Operator(NamedTuple):
    """A stateful operator of the checkpoint. Spark counts them from the sink to the source."""

    id: int
    name: str
    partitions: int
    variables: tuple[Variable, ...]


def operators(spark: SparkSession, checkpoint: str, batch: int) -> list[Operator]:
    """The operators as they were in a batch, from the source to the sink, as a spec has its steps."""
    _ = spark.streams.active  # starts the state stores' coordinator, without which the reader fails (SPARK-58973)
    rows = spark.read.format("state-metadata").option("batchId", batch).load(checkpoint).collect()
    found = {row.operatorId: Operator(row.operatorId, row.operatorName, row.numPartitions, _variables(row)) for row in rows}
    return [found[number] for number in sorted(found, reverse=True)]


def _variables(row: Any) -> tuple[Variable, ...]:
    properties = json.loads(row.operatorProperties or "{}")
    if "stateVariables" not in properties:
        return (Variable("", row.operatorName),)
    declared = properties["stateVariables"]
    given = [Variable(each["stateName"], each["stateVariableType"], each["ttlEnabled"]) for each in declared]
    named = sorted(variable for variable in given if not variable.name.startswith("$"))
    return (*named, *(Variable(TIMERS[name], kind) for name, kind, _ in given if name in TIMERS))


def read(spark: SparkSession, checkpoint: str, batch: int, operator: Operator, variable: Variable, step: Step | None,
         keys: Mapping[str, str], limit: int) -> Table:
    """The first `limit` rows by key, of those that have the keys (column -> text). Elements of a list stay in their order.

    Raises StateUnreadable where a column is no key, or the text no value of it.
    """
    source = spark.read.format("statestore").option("batchId", batch).option("operatorId", operator.id)
    if variable.kind == "TimerState":
        source = source.option("readRegisteredTimers", "true")
    elif variable.name:
        source = source.option("stateVarName", variable.name)
    stored = source.load(checkpoint)
    found = columns(stored, operator.name, step, ttl=variable.ttl)
    flat = stored.select(*(column.at.alias(f"c{place}") for place, column in enumerate(found)),
                         F.monotonically_increasing_id().alias("place"))
    counted = Observation()
    rows = _with(flat, found, keys).observe(counted, F.count(F.lit(1)).alias("rows"))
    order = [f"c{place}" for place, column in enumerate(found) if column.role != "value" or variable.kind == "TimerState"]
    first = rows.orderBy(*order, "place").limit(limit).collect()
    return Table(variable, tuple((column.name, column.role) for column in found),
                 tuple(tuple(map(_zoned, row[:-1])) for row in first), counted.get["rows"])


def _with(flat: DataFrame, found: list[Column], keys: Mapping[str, str]) -> DataFrame:
    for name, text in keys.items():
        # By name alone: the end of a session is no part of Spark's key, and one of the spec's all the same.
        place = next((place for place, column in enumerate(found) if column.name == name), None)
        if place is None:
            raise StateUnreadable(f"the key has no column {name}.",
                                  f"Its columns are {', '.join(column.name for column in found if column.role == 'key')}.")
        kind = found[place].type
        flat = flat.where(F.col(f"c{place}") == F.lit(parse(name, text, kind.simpleString())).cast(kind))
    return flat


def _zoned(value: Any) -> Any:
    # Spark hands timestamps over without a zone, in the process's own, which submit and main set to UTC.
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
