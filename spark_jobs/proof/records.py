"""Records: a case's topic, which is a folder: a file for each partition, a line for each record,
whose number is its offset. It is a source as Kafka is one (source/port.py).
"""

from __future__ import annotations

import base64
import json
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from spark_jobs.source.kafka_time import FIRST_MS, LAST_MS
from spark_jobs.source.port import Lasting, Sampled, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Topic
from spark_jobs.values.own_columns import HEADERS
from spark_jobs.values.times import at_milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.proof.cases import Record
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline

ROW: Final = (
    f"partition int, offset bigint, millis bigint, key binary, value binary, headers {HEADERS}"
)
Line = tuple[int, int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
FORMAT: Final = "sluice-case"


class Sent(NamedTuple):
    """A record of a topic's folder, without its offset."""

    partition: int
    millis: int
    """Kafka's timestamp; -1, as Kafka has it, for none."""
    key: str | bytes | None
    value: str | bytes | None
    headers: Sequence[tuple[str, str | bytes | None]]


class CaseTopic(Topic):
    """A topic whose records are in a folder."""

    source: ClassVar[str] = "spark_jobs.proof.records:source"
    folder: str


def topic_of(topic: Topic, folder: Path, partitions: int) -> CaseTopic:
    """The topic of a case: empty."""
    folder.mkdir()
    for partition in range(partitions):
        (folder / f"{partition}.jsonl").touch()
    given = {name: getattr(topic, name) for name in Topic.model_fields}
    given |= {"archive": None, "starting": None}
    return CaseTopic(**given, folder=str(folder))


def send(topic: CaseTopic, records: Sequence[Record]) -> None:
    """Write records behind those that are there."""
    now = time.time_ns() // 1_000_000
    append(
        topic,
        (
            Sent(
                each.partition,
                _millis(each.timestamp, now),
                each.key,
                _value(each),
                [*(each.headers or {}).items()],
            )
            for each in records
        ),
    )


def append(topic: CaseTopic, records: Iterable[Sent]) -> None:
    """Write records behind those that are there."""
    lines = defaultdict[int, list[str]](list)
    for partition, millis, key, value, headers in records:
        named = [[name, _coded(content)] for name, content in headers]
        lines[partition].append(json.dumps([millis, _coded(key), _coded(value), named]) + "\n")
    for partition, written in lines.items():
        with (Path(topic.folder) / f"{partition}.jsonl").open("a") as file:
            file.writelines(written)


def _value(record: Record) -> str | bytes | None:
    value = record.value
    return value if value is None or isinstance(value, str | bytes) else json.dumps(value)


def _coded(given: str | bytes | None) -> str | None:
    if given is None:
        return None
    return base64.b64encode(given.encode() if isinstance(given, str) else given).decode()


def _millis(at: datetime | None, now: int) -> int:
    if at is None:
        return now
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


class CaseSource(Lasting):
    """See source/port.py."""

    def __init__(self, topic: CaseTopic) -> None:
        self.topic = topic

    def state(self) -> SourceState:
        ends = ends_of(self.topic.folder)
        return SourceState("case", self.earliest(ends), Positions(ends))

    def newest(self, partitions: Iterable[int]) -> datetime | None:
        ends = ends_of(self.topic.folder)
        times = [
            line[2]
            for each in partitions
            for line in _lines(self.topic.folder, each, 0, ends[each])
        ]
        return at_milliseconds(max(times)) if times else None

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:  # noqa: ARG002 - the port's
        return _kafka(spark.createDataFrame([*self._lines(parts)], ROW))

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:  # noqa: ARG002 - the port's
        return (Sampled(*line) for line in self._lines(parts))

    def _lines(self, parts: Parts) -> Iterator[Line]:
        for each, ranges in parts.items():
            for first, stop in ranges:
                yield from _lines(self.topic.folder, each, first, stop)

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        spark.dataSource.register(Lines)
        named = {"folder": self.topic.folder, "topic": self.topic.name}
        return (_kafka(spark.readStream.format(FORMAT).options(**named).load()),)


def source(spec: Pipeline, *_: object) -> Source:
    [topic] = spec.inputs
    assert isinstance(topic, CaseTopic)
    return CaseSource(topic)


def _kafka(rows: DataFrame) -> DataFrame:
    millis = F.col("millis")
    is_time = (millis >= FIRST_MS) & (millis < LAST_MS)
    kafka = F.struct(
        "partition",
        "offset",
        F.timestamp_millis(F.when(is_time, millis)).alias("timestamp"),
        F.when(~is_time, millis).alias("millis"),
        F.struct("key", "value", "headers").alias("raw"),
    )
    return rows.select(kafka.alias("kafka"))


class Lines(DataSource):
    """Spark's data source of it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002 - Spark's
        return LinesReader(self.options["folder"], self.options["topic"])


class LinesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Its stream. Offsets are as Kafka's reader writes them: topic -> partition -> offset."""

    def __init__(self, folder: str, topic: str) -> None:
        self._folder, self._topic = folder, topic
        self._until: dict[int, int] | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = ends_of(self._folder)

    def initialOffset(self) -> dict[str, Any]:
        return {self._topic: dict.fromkeys(map(str, ends_of(self._folder)), 0)}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002 - Spark's
        until = self._until or ends_of(self._folder)
        return {self._topic: {str(partition): end for partition, end in until.items()}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first = start[self._topic]
        stops = end[self._topic].items()
        return [InputPartition((int(each), first.get(each, 0), stop)) for each, stop in stops]

    def read(self, partition: InputPartition) -> Iterator[Line]:
        return _lines(self._folder, *partition.value)


def ends_of(folder: str) -> dict[int, int]:
    """Partition -> how many records it has."""
    files = sorted(Path(folder).glob("*.jsonl"))
    return {int(file.stem): file.read_bytes().count(b"\n") for file in files}


def _lines(folder: str, partition: int, first: int, stop: int) -> Iterator[Line]:
    """The records from the first offset up to `stop`, which is not among them."""
    lines = (Path(folder) / f"{partition}.jsonl").read_text().splitlines()[first:stop]
    for offset, line in enumerate(lines, first):
        millis, key, value, headers = json.loads(line)
        named = [(name, _bytes(text)) for name, text in headers]
        yield partition, offset, millis, _bytes(key), _bytes(value), named


def _bytes(coded: str | None) -> bytes | None:
    return None if coded is None else base64.b64decode(coded)
