"""Decode: bytes to typed columns. Drops nothing: a record that cannot be decoded keeps its place, with the reason.

Runs in Spark's Python workers, one Arrow batch at a time, because JSON is read strictly: Spark's own from_json accepts what
follows the first object, turns numbers into strings, and cannot say what was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.columns import arrow_type, spark_type
from spark_jobs.contract.topic import Topic
from spark_jobs.stages.record import RecordDecoder

if TYPE_CHECKING:
    import pyarrow as pa


def decode(records: DataFrame, topic: Topic) -> DataFrame:
    """From value binary, kafka struct<...> to the topic's fields, kafka, and malformed string (the reason; null if good).

    A malformed record has null in every field.
    """
    columns = [StructField(field.name, spark_type(field.type)) for field in topic.fields]
    schema = StructType([*columns, records.schema["kafka"], StructField("malformed", StringType())])

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decoder = RecordDecoder(topic)
        for batch in batches:
            yield _decoded(batch, topic, decoder)

    return records.mapInArrow(rows, schema)


def _decoded(batch: pa.RecordBatch, topic: Topic, decoder: RecordDecoder) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - the driver that only plans does not need it

    values, reasons = decoder.columns(batch.column("value").to_pylist())
    arrays = [pa.array(column, arrow_type(field.type)) for column, field in zip(values, topic.fields, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*arrays, batch.column("kafka"), pa.array(reasons, pa.string())],
        names=[*topic.columns, "kafka", "malformed"],
    )
