"""Spark: the data source by which Spark reads a folder's records, as a stream and at once.

Its offsets are written as Kafka's: name -> partition -> offset. It reads what the list names, and
nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from spark_jobs.errors.carried import carried
from spark_jobs.files.folder import folder_of
from spark_jobs.files.noted import Listed
from spark_jobs.files.records import Asked, Piece, pieces, read, tasks
from spark_jobs.source.place_columns import without_headers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming import DataStreamReader

FORMAT: Final = "sluice-files"
ROW: Final = pa.schema(
    [("offset", pa.int64()), ("millis", pa.int64()), ("key", pa.binary()), ("value", pa.binary())]
)
COLUMNS: Final = "offset bigint, millis bigint, key binary, value binary"
ROWS: Final = 5_000
"""Records of an Arrow batch."""
BYTES: Final = 16_000_000
"""Of their values, about."""


class Folder(DataSource):
    """The data source. Option: asked."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - Spark's
        return Batch(Asked.of(self.options["asked"]))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002 - Spark's
        return Stream(Asked.of(self.options["asked"]))


class Part(InputPartition):
    """What a task reads: each file's newest part too, by which a change is seen."""

    def __init__(self, given: Sequence[Piece], listed: Listed) -> None:
        names, light = {each.noted.name for each in given}, {"marks": ()}
        self.files = tuple(
            each.model_copy(update=light) for each in listed.files if each.name in names
        )
        self.given = [*given]


def _rows(asked: Asked, part: Part) -> Iterator[pa.RecordBatch]:
    with carried():
        folder = folder_of(asked.declared, asked.root)
        listed, rows, size = Listed(id="", files=part.files), [], 0
        for each in read(folder, asked.declared, listed, part.given):
            rows.append((each.number, each.changed, each.name.encode(), each.value))
            size += len(each.value)
            if len(rows) >= ROWS or size >= BYTES:
                yield _batch(rows)
                rows, size = [], 0
        if rows:
            yield _batch(rows)


def _batch(rows: Sequence[tuple[int, int, bytes, bytes]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(each, of.type) for each, of in zip(columns, ROW, strict=True)], schema=ROW
    )


class Batch(DataSourceReader):
    """A batch query."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        with carried():
            listed = self._asked.listed()
            every = [each for of in self._asked.ranges for each in pieces(listed, *of)]
            return [Part(each, listed) for each in tasks(every)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        return _rows(self._asked, partition)


class Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream from the first record, or the checkpoint's last one, up to the end that is asked."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def prepareForTriggerAvailableNow(self) -> None:
        """Its end is fixed already."""

    def initialOffset(self) -> dict[str, Any]:
        return self._offsets(self._asked.ranges[0][0])

    def latestOffset(self, start: Mapping[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002 - Spark's
        """Of `most` records at most, and whole files where one ends within them."""
        at, [(_, end)], most = self._number(start), self._asked.ranges, self._asked.most
        if most is None or end - at <= most:
            return self._offsets(max(at, end))
        with carried():
            within = self._asked.listed().within(at, at + most)
            ends = [each.behind for each in within if each.behind <= at + most]
        return self._offsets(max(ends, default=at + most))

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        with carried():
            listed = self._asked.listed()
            given = pieces(listed, self._number(start), self._number(end))
            return [Part(each, listed) for each in tasks(given)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        return _rows(self._asked, partition)

    def _offsets(self, number: int) -> dict[str, Any]:
        return {self._asked.declared.name: {"0": number}}

    def _number(self, offsets: Mapping[str, Any]) -> int:
        return int(offsets[self._asked.declared.name]["0"])


def kafka(
    spark: SparkSession, reader: DataFrameReader | DataStreamReader, asked: Asked
) -> DataFrame:
    """The records, as source/port.py has them."""
    spark.dataSource.register(Folder)
    rows = reader.format(FORMAT).option("asked", asked.text).load()
    return rows.select(without_headers(F.lit(0), F.col("key")))
