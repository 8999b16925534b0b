"""Data source: the rows of a table by their numbers, as Spark reads them: as a stream, and those of
some ranges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from spark_jobs.storage.root.store import opened
from spark_jobs.upstream.file_rows import as_json, rows_of
from spark_jobs.upstream.noted import DRAINED, Noted, Numbered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.source.positions import Parts

FORMAT: Final = "sluice-rows"
ROW: Final = "partition int, offset bigint, millis bigint, value binary"
SCHEMA: Final = pa.schema(
    {"partition": pa.int32(), "offset": pa.int64(), "millis": pa.int64(), "value": pa.binary()}
)
TASKS: Final = 8
"""Into so many, at most, the files of a read are put."""


class RowsOfTable(DataSource):
    """Options: folder, the table's; noted, the path of rows.json; columns, name -> type, as JSON;
    topic; of a stream begins, until and most, of a read parts.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ROW

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - Spark's
        return Ranges(dict(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002 - Spark's
        return Stream(dict(self.options))


class _Files:
    """What both readers do."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._columns: dict[str, str] = json.loads(options["columns"])

    def _noted(self) -> Noted:
        return Noted.read(opened(self._options["noted"]))

    def _tasks(self, parts: Parts) -> list[InputPartition]:
        found = [(file.model_dump_json(), *some) for file, some in self._noted().within(parts)]
        size = -(-len(found) // TASKS)
        return [InputPartition(found[at : at + size]) for at in range(0, len(found), size or 1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for text, first, stop in partition.value or ():  # Spark makes one where there is none
            yield from self._rows(text, first, stop)

    def _rows(self, text: str, first: int, stop: int) -> Iterator[pa.RecordBatch]:
        folder, file = self._options["folder"], Numbered.model_validate_json(text)
        at, stop_in_file = first, stop - file.first
        for part in rows_of(folder, file, self._columns, first - file.first, stop_in_file):
            rows = part.num_rows
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([file.partition] * rows, pa.int32()),
                    pa.array(range(at, at + rows), pa.int64()),
                    pa.array([file.at_ms] * rows, pa.int64()),
                    pa.array(as_json(part, self._columns), pa.binary()),
                ],
                schema=SCHEMA,
            )
            at += rows


class Ranges(_Files, DataSourceReader):
    """The rows at some numbers."""

    def partitions(self) -> Sequence[InputPartition]:
        parts = json.loads(self._options["parts"])
        return self._tasks({int(p): tuple(map(tuple, of)) for p, of in parts.items()})


class Stream(_Files, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Those that drains read. Offsets are as Kafka's reader writes them."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._topic = options["topic"]
        self._until: int | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = int(self._options.get("until") or self._noted().end)

    def initialOffset(self) -> dict[str, Any]:
        return {self._topic: {str(DRAINED): 0}}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002 - Spark's
        end, most = self._until or self._noted().end, self._options.get("most")
        begin = int(start[self._topic][str(DRAINED)])
        stop = self._noted().until(begin, max(begin, end), int(most) if most else None)
        return {self._topic: {str(DRAINED): stop}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first, stop = (int(each[self._topic][str(DRAINED)]) for each in (start, end))
        first = max(first, json.loads(self._options["begins"])[str(DRAINED)])
        return self._tasks({DRAINED: ((first, stop),)} if first < stop else {})


def records(read: DataFrame) -> DataFrame:
    """Column: kafka struct, as source/port.py has it. A row has neither key nor headers."""
    from pyspark.sql import functions as F  # noqa: PLC0415 - in the driver

    from spark_jobs.values.own_columns import HEADERS  # noqa: PLC0415 - as above

    raw = F.struct(
        F.lit(None).cast("binary").alias("key"),
        "value",
        F.lit(None).cast(HEADERS).alias("headers"),
    )
    kafka = F.struct(
        "partition",
        "offset",
        F.timestamp_millis("millis").alias("timestamp"),
        F.lit(None).cast("bigint").alias("millis"),
        raw.alias("raw"),
    )
    return read.select(kafka.alias("kafka"))
