"""GroupState in buckets, in Spark: its rows are packed by bucket, and a bucket is the key of
transformWithState.

A row that Spark hands to Python here stands for thousands (packed.py), and so does a value of its
state: a bucket's keys, as the columns of an Arrow stream. What Spark counts is buckets; so keys are
counted here, by an observation (contract/operator_metrics.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.operator_metrics import KEYS_COUNTED, keys_observation
from spark_jobs.contract.step.group_state import GroupState
from spark_jobs.steps.bucket import Bucket
from spark_jobs.steps.packed import BUCKET, pack, to_bytes, to_table, unpack

STATE = "state"
"""The state variable with a bucket's keys and their state, as an Arrow stream."""
KEYS = "keys"
"""The state variable with the number of a bucket's keys."""
PACKED_DDL = f"{BUCKET} int, rows binary"
KEY_TYPES = {"string", "int", "bigint", "boolean", "timestamp", "date"}
"""Of a double, NaN and -0.0 would be other keys in Arrow than in Spark."""


class InBuckets(StatefulProcessor):
    """Calls the pipeline's code, once for a bucket in a batch."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the bucket's state and the number of its keys, which is read without it."""
        self._state = handle.getValueState(
            STATE, StructType([StructField("columns", BinaryType())])
        )
        self._keys = handle.getValueState(KEYS, StructType([StructField("keys", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002 - Spark names them
        """One row for the bucket: its output, packed, and its counts."""
        packed = [row.rows for row in rows if row.rows is not None]
        if not packed:
            [keys] = self._keys.get() or (0,)
            yield _row(None, keys)
            return
        held = self._state.get()
        change = self._bucket.after(to_table(packed), to_table(held) if held else None)
        keys = change.state.num_rows
        if keys:
            self._state.update((to_bytes(change.state),))
            self._keys.update((keys,))
        else:
            self._state.clear()
            self._keys.clear()
        yield _row(change.output, keys, change.written, change.removed)

    def close(self) -> None:
        """Nothing to release."""


_ROW = "rows binary, keys bigint, written bigint, removed bigint"


def _row(output: pa.Table | None, keys: int, written: int = 0, removed: int = 0) -> Row:
    rows = to_bytes(output) if output is not None and output.num_rows else None
    return Row(rows=rows, keys=keys, written=written, removed=removed)


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
    _refuse_keys(rows, step)
    assert step.buckets is not None  # contract/step/group_state.py refuses it
    packing = functools.partial(pack, buckets=step.buckets)
    answered = (
        rows.withColumn(BUCKET, number(step))
        .mapInArrow(packing, PACKED_DDL)
        .groupBy(BUCKET)
        .transformWithState(InBuckets(bucket), _ROW, mode, "None")
        .observe(keys_observation(operator), *(F.sum(name).alias(name) for name in KEYS_COUNTED))
    )
    unpacking = functools.partial(unpack, column="rows")
    return answered.where(F.col("rows").isNotNull()).mapInArrow(unpacking, output)


def number(step: GroupState) -> Column:
    """The bucket of a row: the same for a key in every run, on every machine."""
    return F.pmod(F.hash(*step.keys), F.lit(step.buckets))


def _refuse_keys(rows: DataFrame, step: GroupState) -> None:
    for name in step.keys:
        kind = rows.schema[name].dataType.simpleString()
        if kind not in KEY_TYPES:
            raise SpecInvalid(
                f"GroupState.keys: {name} is {kind}, by which Sluice makes no buckets.",
                f"Use a key of {', '.join(sorted(KEY_TYPES))}, or form='row'.",
            )
