"""A source that is not Kafka: each partition is a file, and a line's number is its offset."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from local import ledger
from spark_jobs.source.port import SourceState
from spark_jobs.spec import Topic
from spark_jobs.values.record_headers import HEADERS
from tests.harness.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from local.deliveries import Delivered
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets, Parts
    from spark_jobs.source.port import Source
    from spark_jobs.spec import Pipeline

ROW = "partition int, offset bigint, millis bigint, key binary, value binary"
Line = tuple[int, int, int, bytes | None, bytes | None]


class Folder(Topic):
    """Records in files."""

    folder: str


class FolderSource(NamedTuple):
    """See source/port.py. It has all records for ever, and no transactions."""

    topic: Folder

    def state(self) -> SourceState:
        ends = lines_of(self.topic.folder)
        return SourceState(Path(self.topic.folder).name, dict.fromkeys(ends, 0), ends)

    def earliest(self, partitions: Iterable[int]) -> Offsets:
        return dict.fromkeys(partitions, 0)

    def newest(self, partitions: Iterable[int]) -> datetime | None:
        times = [
            line[2]
            for each in partitions
            for line in read(self.topic.folder, each, 0, lines_of(self.topic.folder)[each])
        ]
        return datetime.fromtimestamp(max(times) / 1000, UTC) if times else None

    def compacted(self) -> bool:
        return False

    def count(self, parts: Parts) -> int:
        return sum(stop - first for ranges in parts.values() for first, stop in ranges)

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:  # noqa: ARG002 - the port's
        rows = [
            line
            for each, ranges in parts.items()
            for first, stop in ranges
            for line in read(self.topic.folder, each, first, stop)
        ]
        return _kafka(spark.createDataFrame(rows, ROW))

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        spark.dataSource.register(Lines)
        named = {"folder": self.topic.folder, "topic": self.topic.name}
        return (_kafka(spark.readStream.format("sluice-folder").options(**named).load()),)


def folder_source(spec: Pipeline, settings: Settings, waiting: Offsets) -> Source:
    """What reads a Folder."""
    assert isinstance(spec.topic, Folder)
    return FolderSource(spec.topic)


def _kafka(rows: DataFrame) -> DataFrame:
    kafka = F.struct(
        "partition",
        "offset",
        F.timestamp_millis("millis").alias("timestamp"),
        F.lit(None).cast("bigint").alias("millis"),
        F.struct("key", "value", F.lit(None).cast(HEADERS).alias("headers")).alias("raw"),
    )
    return rows.select(kafka.alias("kafka"))


class Lines(DataSource):
    """Spark's data source of it."""

    @classmethod
    def name(cls) -> str:
        return "sluice-folder"

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002 - Spark's
        return LinesReader(self.options["folder"], self.options["topic"])


class LinesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Its stream. Offsets are as Kafka's reader writes them: topic -> partition -> offset."""

    def __init__(self, folder: str, topic: str) -> None:
        self._folder, self._topic = folder, topic
        self._ends: Offsets | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        self._ends = lines_of(self._folder)

    def initialOffset(self) -> dict[str, Any]:
        return {self._topic: dict.fromkeys(map(str, lines_of(self._folder)), 0)}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002 - Spark's
        ends = self._ends or lines_of(self._folder)
        return {self._topic: {str(partition): end for partition, end in ends.items()}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first = start[self._topic]
        return [
            InputPartition((int(each), first.get(each, 0), stop))
            for each, stop in end[self._topic].items()
        ]

    def read(self, partition: InputPartition) -> Iterator[Line]:
        return read(self._folder, *partition.value)


def lines_of(folder: str) -> Offsets:
    """Partition -> how many records it has."""
    files = sorted(Path(folder).glob("*.jsonl"))
    return {int(file.stem): file.read_bytes().count(b"\n") for file in files}


def read(folder: str, partition: int, first: int, stop: int) -> Iterator[Line]:
    """The records from the first offset up to the last, which is not among them."""
    lines = (Path(folder) / f"{partition}.jsonl").read_text().splitlines()[first:stop]
    for offset, line in enumerate(lines, first):
        millis, *both = json.loads(line)
        key, value = (None if part is None else base64.b64decode(part) for part in both)
        yield partition, offset, millis, key, value


class FolderScene(Scene):
    """A scene whose records are in a folder, and whose ledger says where."""

    def __init__(self, folder: Path, pipeline: Pipeline, **choices: Any) -> None:
        super().__init__("no.broker:9", folder, pipeline, **choices)
        self.records = folder / f"records-{self.topic}"
        self.records.mkdir()
        for partition in range(self.partitions):
            (self.records / f"{partition}.jsonl").touch()
        topic = Folder(**dict(self.spec.topic), folder=str(self.records))
        self.change(topic=topic)

    def _publish(self, number: int, records: list[Delivered]) -> dict[str, int]:
        ends, places = lines_of(str(self.records)), []
        files = {each: (self.records / f"{each}.jsonl").open("a") for each in ends}
        for record in records:
            partition = crc32(record.key or b"") % self.partitions
            both = [
                None if part is None else base64.b64encode(part).decode()
                for part in (record.key, record.value)
            ]
            millis = round(record.kafka_timestamp.timestamp() * 1000)
            files[partition].write(json.dumps([millis, *both]) + "\n")
            places.append((partition, ends[partition]))
            ends[partition] += 1
        for file in files.values():
            file.close()
        ledger.write(self.ledger_folder, number, self.topic, records, places)
        return {}
