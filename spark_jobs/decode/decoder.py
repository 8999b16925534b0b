"""Decode: bytes to typed columns.

Drops no record: a record that cannot be decoded has nulls and the reason.

One decoder for each format (formats.py). Runs in Spark's Python workers (mapInArrow), because
Spark's own decoders do not say why a record is malformed; from_json also accepts text after the
first object and converts numbers to strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.contract.gap import Unheld
from spark_jobs.contract.own_columns import KAFKA, MALFORMED
from spark_jobs.contract.topic import Field, Topic
from spark_jobs.decode.formats import DECODERS, Decoder
from spark_jobs.decode.raw_filter import CapturePolicy, RawFilter
from spark_jobs.decode.slice_counter import SliceCounter
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.type_conversions import arrow_array, spark_type

if TYPE_CHECKING:
    import pyarrow as pa


def decode(
    records: DataFrame,
    topic: Topic,
    capture: CapturePolicy | None = None,
    failing: Mapping[tuple[int, int], str] | None = None,
    notes: SliceNotes | None = None,
    fields: Sequence[Field] | None = None,
    unheld: Sequence[Unheld] = (),
) -> DataFrame:
    """Columns: the topic's fields, kafka struct as given, and MALFORMED string (the reason; null if
    decoded). With `fields`, these of the topic's, the event time among them: Spark prunes no column
    through mapInArrow. Any of the others still makes a record malformed.

    A malformed record has null in every field. With `capture`, kafka.raw is null except for records
    that may be rejected. `failing` has the records that are malformed although they can be decoded:
    partition and offset -> the reason. `notes` gets the slices of the records. `unheld` are times
    for which a record may be rejected later.
    """
    wanted = topic.fields if fields is None else fields
    columns = [StructField(field.name, spark_type(field.type)) for field in wanted]
    kafka = StructType(
        [StructField(part.name, part.dataType) for part in records.select("kafka.*").schema]
    )  # all nullable
    schema = StructType([*columns, StructField(KAFKA, kafka), StructField(MALFORMED, StringType())])

    noted = (notes.policy, notes.accumulator) if notes else None

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decoder = DECODERS[topic.format](topic, [field.name for field in wanted])
        raw_filter = RawFilter(topic, capture, unheld) if capture else None
        counter = SliceCounter(topic, noted[0]) if noted else None
        for batch in batches:
            yield _decoded(batch, topic, wanted, decoder, raw_filter, failing or {}, counter)
        if noted and counter:
            noted[1].add([*counter.slices.values()])

    return records.mapInArrow(rows, schema)


def _decoded(
    batch: pa.RecordBatch,
    topic: Topic,
    wanted: Sequence[Field],
    decoder: Decoder,
    raw_filter: RawFilter | None,
    failing: Mapping[tuple[int, int], str],
    counter: SliceCounter | None = None,
) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - the driver that only plans does not need it

    kafka = batch.column("kafka")
    values, reasons = decoder.columns(kafka.field("raw").field("value").to_pylist())
    if failing:
        places = [kafka.field(name).to_pylist() for name in ("partition", "offset")]
        reasons = [
            reason or failing.get(place)
            for reason, place in zip(reasons, zip(*places, strict=True), strict=True)
        ]
        values = [
            [None if reason else value for value, reason in zip(column, reasons, strict=True)]
            for column in values
        ]
    arrays = {
        field.name: arrow_array(column, field.type)
        for field, column in zip(wanted, values, strict=True)
    }
    event_time = arrays[topic.event_time]
    if counter:
        counter.add(kafka, event_time)
    if raw_filter:
        kafka = raw_filter.apply(kafka, arrays)
    return pa.RecordBatch.from_pydict(
        {**arrays, KAFKA: kafka, MALFORMED: pa.array(reasons, pa.string())}
    )
