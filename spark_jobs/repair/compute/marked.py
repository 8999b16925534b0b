"""Marked: the records that depend on changed rows of a table beside the stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from spark_jobs.values.own_columns import own
from spark_jobs.values.spans import FIRST, LAST, Span

if TYPE_CHECKING:
    from spark_jobs.spec.analysis.looked_up import LookedUp
    from spark_jobs.storage.pin import Changed

KEY, START, END = (own(name) for name in ("key", "start", "end"))
SCHEMA: Final = pa.schema(
    {KEY: pa.string(), START: pa.timestamp("us", "UTC"), END: pa.timestamp("us", "UTC")}
)


def marked(used: DataFrame, step: LookedUp, changes: Sequence[Changed]) -> DataFrame:
    """Of the records that enter the first stateful step, those that the step may join otherwise
    behind these changes. Where they do not have the columns by which it finds rows, those of the
    changes' times.
    """
    columns, time = step.entering, F.col(step.spec.inputs.event_time)
    rows = dict.fromkeys(_row(step, each, by_key=bool(columns)) for each in changes)
    when, found = (time >= F.col(START)) & (time < F.col(END)), used.limit(0)
    if any_key := [row for row in rows if row[0] is None]:
        found = found.unionAll(used.join(_frame(used, any_key), when, "left_semi"))
    if of_keys := [row for row in rows if row[0] is not None]:
        kinds = [StructField(key, used.schema[name].dataType) for key, name in columns.items()]
        keys = _frame(used, of_keys).withColumn(KEY, F.from_json(KEY, StructType(kinds)))
        same = (used[f"`{name}`"] == F.col(KEY)[key] for key, name in columns.items())
        known = used.join(keys, reduce(Column.__and__, same, when), "left_semi")
        found = found.unionAll(known)
    return found


def _row(step: LookedUp, change: Changed, *, by_key: bool) -> tuple[object, ...]:
    times = step.records(Span(change.start or FIRST, change.end or LAST))
    return (change.key if by_key else None, *times)


def _frame(used: DataFrame, rows: Sequence[tuple[object, ...]]) -> DataFrame:
    named = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
    found = pa.Table.from_pylist(named, SCHEMA)
    return F.broadcast(used.sparkSession.createDataFrame(found, from_arrow_schema(SCHEMA)))
