"""GroupState in buckets, in Spark: its rows are packed by bucket, and a bucket is the key of
transformWithState.

A row that Spark hands to Python here stands for thousands (packed.py), and so does a value of its
state: a bucket's keys, as the columns of an Arrow stream. What Spark counts is buckets; so keys are
counted here, by an observation (ops/operator_metrics.py).
"""

from __future__ import annotations

import functools

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import StructType

from spark_jobs.errors import SpecInvalid
from spark_jobs.ops.operator_metrics import KEYS_COUNTED, keys_observation
from spark_jobs.spec import GroupState
from spark_jobs.steps.buckets.bucket import Bucket
from spark_jobs.steps.buckets.packed import BUCKET, pack, unpack
from spark_jobs.steps.buckets.processor import ANSWER_DDL, InBuckets

PACKED_DDL = f"{BUCKET} int, rows binary"
KEY_TYPES = {"string", "int", "bigint", "boolean", "timestamp", "date"}
"""Of a double, NaN and -0.0 would be other keys in Arrow than in Spark."""


def in_buckets(
    rows: DataFrame,
    step: GroupState,
    bucket: Bucket,
    output: StructType,
    mode: str,
    operator: int,
) -> DataFrame:
    """The rows that the code gives: the step's declared output columns.

    `mode` is Spark's output mode; `operator` counts the stateful steps before this one. Raises
    SpecInvalid for a key of a type that buckets cannot have.
    """
    rows = named(rows, step.keys)
    _refuse_keys(rows, step)
    assert step.buckets is not None  # spec/steps/group_state.py refuses it
    packing = functools.partial(pack, buckets=step.buckets)
    answered = (
        rows.withColumn(BUCKET, number(step))
        .mapInArrow(packing, PACKED_DDL)
        .groupBy(BUCKET)
        .transformWithState(InBuckets(bucket), ANSWER_DDL, mode, "None")
        .observe(keys_observation(operator), *(F.sum(name).alias(name) for name in KEYS_COUNTED))
    )
    unpacking = functools.partial(unpack, column="rows")
    return answered.where(F.col("rows").isNotNull()).mapInArrow(unpacking, output)


def named(rows: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The rows, their key columns in the letters that the step declares: Spark finds a column
    whether its letters are large or small, and Arrow does not.
    """
    declared = {key.lower(): key for key in keys}
    return rows.toDF(*(declared.get(name.lower(), name) for name in rows.columns))


def number(step: GroupState) -> Column:
    """The bucket of a row: the same for a key in every run, on every machine."""
    return F.pmod(F.hash(*step.keys), F.lit(step.buckets))


def _refuse_keys(rows: DataFrame, step: GroupState) -> None:
    for name in step.keys:
        kind = rows.schema[name].dataType.simpleString()
        if kind not in KEY_TYPES:
            raise SpecInvalid.key_unpackable(
                name=name,
                kind=kind,
                known=", ".join(sorted(KEY_TYPES)),
            )
