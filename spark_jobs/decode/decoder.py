"""Decode: bytes to typed columns.

Drops no record: a record that cannot be decoded has nulls and the reason.

One decoder for each format (formats.py). Runs in Spark's Python workers (mapInArrow), because
Spark's own decoders do not say why a record is malformed; from_json also accepts text after the
first object and converts numbers to strings. Of plain JSON the JVM decodes what drains and
repairs read (jvm/): without workers, and with Python's verdicts. What `verify` reads Python
decodes: it is the witness of what drains have decoded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import StringType, StructField, StructType

from spark_jobs.decode import raised
from spark_jobs.decode.formats import Decoded, Records, taken
from spark_jobs.decode.json.unnamed import UnnamedKeys
from spark_jobs.decode.jvm import decoded, is_there
from spark_jobs.decode.jvm_choice import NO_JAR, why_python
from spark_jobs.decode.pandas_later import without_pandas
from spark_jobs.decode.raw_filter import CapturePolicy, RawFilter
from spark_jobs.decode.record_decoder import Prepared
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.decode.slices import SliceCounter
from spark_jobs.errors.carried import carried
from spark_jobs.source.place import PLACE, Place
from spark_jobs.spec.inputs import COLUMN
from spark_jobs.values.conversions import arrow_type, spark_type
from spark_jobs.values.gap import Unheld
from spark_jobs.values.numbering import BITS
from spark_jobs.values.own_columns import KAFKA, MALFORMED

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.decode.record_decoder import RecordDecoder

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


LOG = logging.getLogger(__name__)


def decode(
    records: DataFrame,
    prepared: Sequence[Prepared],
    capture: CapturePolicy | None = None,
    failing: Mapping[Place, str] | None = None,
    notes: SliceNotes | None = None,
    unheld: Sequence[Unheld] = (),
    *,
    headers: bool = False,
    in_jvm: bool = False,
) -> DataFrame:
    """Columns: the fields that are wanted, the event time among them; of records of several topics,
    by their numbers in `prepared`, the topic's name; kafka struct as given; and MALFORMED string
    (the reason; null if decoded). Spark prunes no column through mapInArrow. Any field that is not
    wanted still makes a record malformed.

    A malformed record has null in every field. With `capture`, kafka.raw is null except for records
    that may be rejected. `failing` has the records that are malformed although they can be decoded:
    partition and offset -> the reason. `notes` gets the slices of the records. `unheld` are times
    for which a record may be rejected later. Without `headers` kafka.raw may have none: nobody
    keeps them.

    `in_jvm`: by the JVM where it can. Its reasons are PENDING, and it fails on a record of which
    only Python knows whether it is malformed (decode/jvm.py).
    """
    types = {field.name: field.type for each in prepared for field in each.topic.fields}
    wanted = dict.fromkeys(name for each in prepared for name in each.wanted)
    columns = [StructField(name, spark_type(types[name])) for name in wanted]
    if len(prepared) > 1:
        columns.append(StructField(COLUMN, StringType()))
    kafka = StructType(
        [StructField(part.name, part.dataType) for part in records.select("kafka.*").schema]
    )  # all nullable
    schema = StructType([*columns, StructField(KAFKA, kafka), StructField(MALFORMED, StringType())])

    [first, *more] = prepared
    if in_jvm and not more and not failing and not why_python(first.topic, unheld):
        if is_there(records.sparkSession):
            return decoded(records, first, capture, notes, schema)
        LOG.warning("%s: Python decodes, since %s", first.topic.name, NO_JAR)

    noted = (notes.policy, notes.accumulator) if notes else None
    unnamed = notes.keys.accumulator if notes and notes.keys else None

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        without_pandas()
        with carried():
            works = [
                _Work(
                    each,
                    each.decoder(),
                    RawFilter(each.topic, capture, unheld) if capture else None,
                    SliceCounter(each.topic, noted[0]) if noted else None,
                    UnnamedKeys(each.topic) if unnamed else None,
                    {name: types[name] for name in wanted},
                    most,
                )
                for each in prepared
            ]
        for batch in batches:
            for work, part in _by_topic(batch, works):
                yield from _carried(work.decoded(part, failing or {}, named=len(works) > 1))
        for work in works:
            if noted and work.counter:
                noted[1].add([*work.counter.slices.values()])
            if unnamed and work.keys and work.keys.task[0]:
                unnamed.add([work.keys.task])

    most = raised.MOST if records.isStreaming else None
    sent = records if headers else without_headers(records)
    return sent.mapInArrow(rows, schema)


class _Work(NamedTuple):
    """What a task has for the records of one topic."""

    prepared: Prepared
    decoder: RecordDecoder
    raw_filter: RawFilter | None
    counter: SliceCounter | None
    keys: UnnamedKeys | None
    columns: dict[str, str]
    """Those of all topics -> their types. What this one lacks is null."""
    most: int | None = None
    """As in raised.py."""

    def decoded(
        self, batch: pa.RecordBatch, failing: Mapping[Place, str], *, named: bool
    ) -> Iterator[pa.RecordBatch]:
        """The records of the topic, in parts of bounded bytes; `named`: with its name."""
        import pyarrow as pa  # noqa: PLC0415 - the driver that only plans does not need it

        kafka, start = with_headers(batch.column(KAFKA)), 0
        for part in self.decoder.parts(Records.of(kafka), self.most):
            count = len(part.reasons)
            own = (
                kafka if count == len(kafka) else kafka.take(pa.array(range(start, start + count)))
            )
            yield self._rows(own, part, failing, named=named)
            start += count

    def _rows(
        self, kafka: pa.StructArray, part: Decoded, failing: Mapping[Place, str], *, named: bool
    ) -> pa.RecordBatch:
        import pyarrow as pa  # noqa: PLC0415 - as above

        records, (columns, reasons) = Records.of(kafka), part
        if self.keys:
            self.keys.look(records, reasons)
        if failing:
            there = [name for name in PLACE if kafka.type.get_field_index(name) >= 0]
            columns_of = [kafka.field(name).to_pylist() for name in there]
            reasons = [
                reason or failing.get(Place.at(*place))
                for reason, place in zip(reasons, zip(*columns_of, strict=True), strict=True)
            ]
            columns = taken(columns, reasons)
        known = dict(zip(self.prepared.wanted, columns, strict=True))
        arrays = {
            name: known[name] if name in known else pa.nulls(len(reasons), arrow_type(kind))
            for name, kind in self.columns.items()
        }
        if self.counter:
            self.counter.add(kafka, arrays[self.prepared.topic.event_time])
        if self.raw_filter:
            kafka = self.raw_filter.apply(kafka, arrays)
        if named:
            arrays[COLUMN] = pa.array([self.prepared.topic.name] * len(reasons), pa.string())
        return pa.RecordBatch.from_pydict(
            {**arrays, KAFKA: kafka, MALFORMED: pa.array(reasons, pa.string())}
        )


def _carried(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, each made where errors are carried to the driver, and given where they are not."""
    while True:
        with carried():
            part = next(parts, None)
        if part is None:
            return
        yield part


def _by_topic(
    batch: pa.RecordBatch, works: Sequence[_Work]
) -> Iterator[tuple[_Work, pa.RecordBatch]]:
    """The records of each topic, by the numbers of their partitions."""
    if len(works) == 1:
        yield works[0], batch
        return
    import pyarrow as pa  # noqa: PLC0415 - as above

    numbers = batch.column(KAFKA).field("partition").to_numpy() >> BITS
    for number, work in enumerate(works):
        if (of_it := numbers == number).any():
            yield work, batch.filter(pa.array(of_it))
