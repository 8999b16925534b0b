"""Measures: how many keys of a step hold how much of its state, and how many of its rows expire
when, in one reading of its stores.

What a key is, and so what is large, differs by step:

deduplicate   the columns of its key: one row each, so that long values alone make one large
aggregate     the grouping columns without the window: a row for each window that is open; the
              window, if there is no other column
group_state   the columns of its key: all its variables and timers; of form buckets the bucket,
              which Spark stores as one row
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F
from pyspark.sql.types import StructType

from spark_jobs.messages.state_answer import Expiring, Expiry, KeySizes, LargeKey, Power, cells
from spark_jobs.spec import Pipeline
from spark_jobs.state.reader import TIMERS, StateOperator, opened
from spark_jobs.state.table import StoreColumn, Stores, Table
from spark_jobs.state.text import format_value
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.values.own_columns import PREFIX, WINDOW
from spark_jobs.values.spans import EPOCH, MICROSECOND

MOST_NAMED: Final = 10
"""The largest keys that are told one by one."""
POWERS: Final = 40
"""A key of 2**40 bytes is none that Spark could read."""


def key_sizes(
    spark: SparkSession, checkpoint: SparkPath, batch: int, operator: StateOperator
) -> KeySizes:
    """Of all keys of a step, after a batch. RocksDB's store alone tells them.

    Bytes are of keys and values as Spark writes them: before RocksDB compresses them, with the
    indexes that Spark keeps of timers, lists and TTLs.
    """
    rows = Stores(spark, checkpoint, batch).rows(operator.id, _readAllColumnFamilies="true")
    key = _key(rows)
    by_key = _by_key(rows, [*key.values()], one_row=operator.name.startswith("dedupe"))
    counted = Observation()
    largest = (
        by_key.observe(
            counted,
            F.count(F.lit(1)).alias("keys"),
            F.sum("rows").alias("rows"),
            F.sum("bytes").alias("bytes"),
            F.count_if(F.col("timers") == 0).alias("untimed"),
            *(F.count_if(F.col("power") == place).alias(f"p{place}") for place in range(POWERS)),
        )
        .orderBy(F.desc("bytes"), F.desc("rows"), *by_key.columns[: len(key)])
        .limit(MOST_NAMED)
        .collect()
    )
    found = counted.get
    timed = any(variable.kind == "TimerState" for variable in operator.variables)
    return KeySizes(
        columns=tuple(name.removeprefix(PREFIX) for name in key),  # of buckets, bucket
        keys=found["keys"],
        rows=found["rows"] or 0,
        bytes=found["bytes"] or 0,
        untimed=found["untimed"] if timed else None,
        powers=tuple(
            Power(power=place, keys=keys) for place in range(POWERS) if (keys := found[f"p{place}"])
        ),
        largest=tuple(
            LargeKey(
                key=cells(tuple(map(format_value, row[: len(key)]))),
                rows=row["rows"],
                bytes=row["bytes"],
            )
            for row in largest
        ),
    )


def _by_key(stored: DataFrame, key: list[Column], *, one_row: bool) -> DataFrame:
    """Key, rows, bytes, timers and power of each key. A million keys of one row each are grouped in
    ten times the time that it takes to read them, so that these are not.
    """
    size = F.length("key_bytes") + F.length("value_bytes")
    family = F.col("column_family_name")
    if one_row:
        none = F.lit(0).alias("timers")
        found = stored.select(*key, F.lit(1).alias("rows"), size.alias("bytes"), none)
    else:
        found = stored.groupBy(*key).agg(
            F.count_if(~family.startswith("$")).alias("rows"),
            F.sum(size).alias("bytes"),
            F.count_if(family.isin(*TIMERS)).alias("timers"),
        )
    # The digits of a binary number: a logarithm would round.
    return found.withColumn("power", F.length(F.bin("bytes")) - 1)


def _key(stored: DataFrame) -> dict[str, Column]:
    struct = stored.schema["partition_key"].dataType
    assert isinstance(struct, StructType)
    names = [name for name in struct.names if name != WINDOW] or struct.names
    at = F.col("partition_key")
    return {name: at.getField(name).alias(f"k{place}") for place, name in enumerate(names)}


HOUR: Final = 3_600_000_000
"""Microseconds."""
LADDER: Final = ((48, 1), (60 * 24, 24), (10 * 365 * 24, 30 * 24))
"""Up to so many hours, spans of so many hours: counting the next day needs its hours."""
LATER: Final = -1


class Instants(NamedTuple):
    """The two times from which it is counted."""

    watermark: datetime | None
    clock: datetime


def expiry(
    spark: SparkSession,
    checkpoint: SparkPath,
    batch: int,
    operator: StateOperator,
    spec: Pipeline,
    number: int,
    table: Table,
    now: Instants,
) -> Expiry:
    """Of one variable of a step, after a batch."""
    step, variable = spec.steps[number - 1], table.variable
    when = step.expires(variable, table.names, _event_time(spec, number), spec.output_mode)
    since = {"watermark": now.watermark, "clock": now.clock}.get(when.by)
    rows: dict[int | None, int] = {LATER if when.column else None: table.total}
    if when.column and since is not None:
        stored, columns = opened(spark, checkpoint, batch, operator, variable, step)
        column = next(each for each in columns if each.name == when.column)
        rows = _by_span(stored, column, since - when.after)
    return Expiry(
        variable=variable.name,
        counted=when.counted,
        by=when.by,
        since=since,
        spans=tuple(
            Expiring(hours=hours, rows=rows[hours])
            for hours in sorted(each for each in rows if each is not None and each != LATER)
        ),
        later=rows.get(LATER, 0),
        never=rows.get(None, 0),
    )


def _by_span(stored: DataFrame, column: StoreColumn, since: datetime) -> dict[int | None, int]:
    """Hours to the end of a span -> rows in it; LATER, and None for those without a time."""
    # As a double, which is exact for two centuries and overflows for no time.
    behind = F.unix_micros(column.expression).cast("double") - (since - EPOCH) / MICROSECOND
    counts = stored.groupBy(_span(behind).alias("hours")).count().collect()
    return {row["hours"]: row["count"] for row in counts}


def _span(behind: Column) -> Column:
    found = F.when(behind.isNull(), None).when(behind <= 0, 0)
    for most, hours in LADDER:
        end = (F.ceil(behind / (hours * HOUR)) * hours).cast("int")
        found = found.when(behind <= most * HOUR, end)
    return found.otherwise(LATER)


def _event_time(spec: Pipeline, number: int) -> str | None:
    time: str | None = spec.inputs.event_time
    for step in spec.steps[: number - 1]:
        time = step.time_after(time)
    return time
