"""Unpacked keys: the state of a GroupState in buckets, with a row for each key as other forms store
it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.steps.buckets.packed import to_table, unpack
from spark_jobs.values.conversions import spark_type

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
