"""Elements: a value with many records becomes one record for each element of its list, before it is
decoded (`Topic.each`).

A record is then known by partition, offset and element. Each value gives at least one row, so that
the account counts values and records: EMPTY of an empty list; none of a value that is refused as a
whole. The bytes of an element are of no Kafka record: nothing keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from spark_jobs.decode.decoder import with_headers, without_headers
from spark_jobs.decode.formats import Element, Elements, Records, elements_of
from spark_jobs.errors.carried import carried
from spark_jobs.spec.fields.each import AROUND
from spark_jobs.values.own_columns import ELEMENT, EMPTY, KAFKA, MALFORMED

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.spec import Topic

WHY: Final = "why"
"""In the column kafka: why the element is none; null if it is one."""
PART: Final = 16_000_000
"""Bytes of elements that are decoded at a time: a value of one list may have many."""
ROWS: Final = 10_000


def spread(records: DataFrame, topic: Topic, given: object, *, headers: bool) -> DataFrame:
    """Column kafka, as source/port.py has it, for each element, and in it element int and why
    string. Those that are spread already stay as they are. `given` is what the topic's format has
    prepared.
    """
    parts = records.select(f"{KAFKA}.*").schema
    if ELEMENT in parts.names:
        return records
    named = {part.name: StructField(part.name, part.dataType) for part in parts}
    more = [StructField(ELEMENT, IntegerType()), StructField(WHY, StringType())]
    kafka = StructType([*named.values(), *more])

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - the driver that only plans does not need it

        with carried():
            by = elements_of(topic, given)
        for batch in batches:
            for part in _parts(with_headers(batch.column(KAFKA)), by):
                yield pa.RecordBatch.from_arrays([part], [KAFKA])

    sent = records if headers else without_headers(records)
    return sent.mapInArrow(rows, StructType([StructField(KAFKA, kafka)]))


def _parts(values: pa.StructArray, by: Elements) -> Iterator[pa.StructArray]:
    """The elements of the values, so many bytes at a time."""
    found, parents, size = list[Element](), list[int](), 0
    for index, of_value in enumerate(by.of(Records.of(values))):
        for each in of_value:
            found.append(each)
            parents.append(index)
            size += len(each.value or b"")
            if size >= PART or len(found) >= ROWS:
                yield _kafka(values, found, parents)
                found, parents, size = [], [], 0
    if found:
        yield _kafka(values, found, parents)


def _kafka(values: pa.StructArray, found: list[Element], parents: list[int]) -> pa.StructArray:
    import pyarrow as pa  # noqa: PLC0415 - as above

    at, raw = pa.array(parents, pa.int64()), values.field("raw")
    bytes_ = pa.array([each.value for each in found], pa.binary())
    own: Mapping[str, Any] = {
        "raw": pa.StructArray.from_arrays(
            [raw.field("key").take(at), bytes_, raw.field("headers").take(at)],
            ["key", "value", "headers"],
        ),
        ELEMENT: pa.array([each.number for each in found], pa.int32()),
        WHY: pa.array([each.why for each in found], pa.string()),
    }
    names = [*(part.name for part in values.type), ELEMENT, WHY]
    arrays = [own[name] if name in own else values.field(name).take(at) for name in names]
    return pa.StructArray.from_arrays(arrays, names)


def settled(decoded: DataFrame) -> DataFrame:
    """The decoded elements, each with the reason that it has; without bytes, which a value has."""
    kafka = F.col(KAFKA)
    reason = F.regexp_replace(MALFORMED, AROUND, "`\\$")
    reason = F.coalesce(kafka[WHY], reason)
    reason = F.when(kafka[ELEMENT].eqNullSafe(EMPTY), None).otherwise(reason)
    types = decoded.select(f"{KAFKA}.raw.*").schema
    nothing = F.struct(*(F.lit(None).cast(part.dataType).alias(part.name) for part in types))
    raw = F.when(kafka["raw"].isNotNull(), nothing)
    return decoded.withColumns(
        {MALFORMED: reason, KAFKA: kafka.withField("raw", raw).dropFields(WHY)}
    )
