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

from spark_jobs.decode.formats import Records
from spark_jobs.decode.json.unnamed import UnnamedKeys
from spark_jobs.decode.prepared import Prepared
from spark_jobs.decode.raw_filter import CapturePolicy, RawFilter
from spark_jobs.decode.slice_counter import SliceCounter
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.decode.taken import taken
from spark_jobs.decode.unread_headers import with_headers, without_headers
from spark_jobs.messages.carried import carried
from spark_jobs.values.conversions import spark_type
from spark_jobs.values.gap import Unheld
from spark_jobs.values.own_columns import KAFKA, MALFORMED

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.decode.record_decoder import RecordDecoder


def decode(
    records: DataFrame,
    prepared: Prepared,
    capture: CapturePolicy | None = None,
    failing: Mapping[tuple[int, int], str] | None = None,
    notes: SliceNotes | None = None,
    unheld: Sequence[Unheld] = (),
) -> DataFrame:
    """Columns: the fields that are wanted, the event time among them; kafka struct as given; and
    MALFORMED string (the reason; null if decoded). Spark prunes no column through mapInArrow. Any
    field that is not wanted still makes a record malformed.

    A malformed record has null in every field. With `capture`, kafka.raw is null except for records
    that may be rejected. `failing` has the records that are malformed although they can be decoded:
    partition and offset -> the reason. `notes` gets the slices of the records. `unheld` are times
    for which a record may be rejected later.
    """
    topic = prepared.topic
    types = {field.name: field.type for field in topic.fields}
    columns = [StructField(name, spark_type(types[name])) for name in prepared.wanted]
    kafka = StructType(
        [StructField(part.name, part.dataType) for part in records.select("kafka.*").schema]
    )  # all nullable
    schema = StructType([*columns, StructField(KAFKA, kafka), StructField(MALFORMED, StringType())])

    noted = (notes.policy, notes.accumulator) if notes else None
    unnamed = notes.keys.accumulator if notes and notes.keys else None

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            decoder = prepared.decoder()
        raw_filter = RawFilter(topic, capture, unheld) if capture else None
        counter = SliceCounter(topic, noted[0]) if noted else None
        keys = UnnamedKeys(topic) if unnamed else None
        for batch in batches:
            with carried():
                made = _decoded(batch, prepared, decoder, raw_filter, failing or {}, counter, keys)
            yield made
        if noted and counter:
            noted[1].add([*counter.slices.values()])
        if unnamed and keys and keys.task[0]:
            unnamed.add([keys.task])

    sent = records if topic.reads_headers else without_headers(records)
    return sent.mapInArrow(rows, schema)


def _decoded(
    batch: pa.RecordBatch,
    prepared: Prepared,
    decoder: RecordDecoder,
    raw_filter: RawFilter | None,
    failing: Mapping[tuple[int, int], str],
    counter: SliceCounter | None = None,
    keys: UnnamedKeys | None = None,
) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - the driver that only plans does not need it

    kafka = with_headers(batch.column(KAFKA))
    records = Records.of(kafka)
    columns, reasons = decoder.decode(records)
    if keys:
        keys.look(records, reasons)
    if failing:
        places = zip(records.partition.to_pylist(), records.offset.to_pylist(), strict=True)
        reasons = [
            reason or failing.get(place) for reason, place in zip(reasons, places, strict=True)
        ]
        columns = taken(columns, reasons)
    arrays = dict(zip(prepared.wanted, columns, strict=True))
    if counter:
        counter.add(kafka, arrays[prepared.topic.event_time])
    if raw_filter:
        kafka = raw_filter.apply(kafka, arrays)
    return pa.RecordBatch.from_pydict(
        {**arrays, KAFKA: kafka, MALFORMED: pa.array(reasons, pa.string())}
    )
