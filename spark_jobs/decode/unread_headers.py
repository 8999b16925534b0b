"""Unread headers: the column of headers stays behind in Spark where a topic reads none.

A column of nothing but null lists takes time that grows with the square of a batch. Spark measures
a batch at each of its rows, and a null list does not move the vector's last entry on
(ArrowWriter.sizeInBytes, ListVector.setValueCount): 46 processor seconds a million, and 10 without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, functions as F

from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "headers"


def without_headers(records: DataFrame) -> DataFrame:
    """The column kafka, as source/port.py has it, with no headers in `raw`."""
    raw = F.col(f"{KAFKA}.raw").dropFields(NAME)
    return records.select(F.col(KAFKA).withField("raw", raw).alias(KAFKA))


def with_headers(kafka: pa.StructArray) -> pa.StructArray:
    """The column kafka with headers, null in each record that came without."""
    raw = kafka.field("raw")
    if raw.type.get_field_index(NAME) >= 0:
        return kafka
    return _with(kafka, "raw", _with(raw, NAME, _nulls(len(raw))))


def _nulls(count: int) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - the driver that only plans does not need it

    entry = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.nulls(count, pa.list_(entry))


def _with(struct: pa.StructArray, name: str, part: pa.Array) -> pa.StructArray:
    import pyarrow as pa  # noqa: PLC0415 - as above

    parts: dict[str, Any] = {each.name: struct.field(each.name) for each in struct.type}
    parts[name] = part
    return pa.StructArray.from_arrays([*parts.values()], [*parts])
