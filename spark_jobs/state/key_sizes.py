"""Key sizes: how many keys of a step hold how much of its state, in one reading of its stores.

What a key is, and so what is large, differs by step:

deduplicate   the columns of its key: one row each, so that long values alone make one large
aggregate     the grouping columns without the window: a row for each window that is open; the
              window, if there is no other column
group_state   the columns of its key: all its variables and timers; of form buckets the bucket,
              which Spark stores as one row
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F
from pyspark.sql.types import StructType

from spark_jobs.state.answer import KeySizes, LargeKey, Power, cells
from spark_jobs.state.reader import TIMERS, StateOperator
from spark_jobs.state.text import format_value
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.values.own_columns import PREFIX, WINDOW

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
    stored = (
        spark.read.format("statestore")
        .option("batchId", batch)
        .option("operatorId", operator.id)
        .option("_readAllColumnFamilies", "true")
        .load(checkpoint)
    )
    key = _key(stored)
    by_key = _by_key(stored, [*key.values()], one_row=operator.name.startswith("dedupe"))
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
    return KeySizes(
        columns=tuple(name.removeprefix(PREFIX) for name in key),  # of buckets, bucket
        keys=found["keys"],
        rows=found["rows"] or 0,
        bytes=found["bytes"] or 0,
        untimed=found["untimed"] if _sets_timers(operator) else None,
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


def _sets_timers(operator: StateOperator) -> bool:
    return any(variable.kind == "TimerState" for variable in operator.variables)
