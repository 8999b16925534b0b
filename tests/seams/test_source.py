"""A source of one's own: a folder of Parquet files with typed rows, and no broker anywhere."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from spark_jobs.source.port import Lasting, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Aggregate, Field, Pipeline, Topic, Tumbling
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

pytestmark = alike("a seam")

ROW = (
    "partition int, offset bigint, timestamp timestamp, millis bigint, "
    "raw struct<key: binary, value: binary, headers: array<struct<key: string, value: binary>>>"
)
HOUR = timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Rows(Topic):
    """Rows in a folder of Parquet files, by their names. An offset is a row's number."""

    source: ClassVar[str] = "tests.seams.test_source:RowsSource"
    folder: str


class RowsSource(Lasting):
    """See source/port.py."""

    def __init__(self, spec: Pipeline, *_: object) -> None:
        self.topic = spec.topic

    def state(self) -> SourceState:
        return SourceState("rows", Positions({0: 0}), Positions({0: end_of(self.topic.folder)}))

    def newest(self, partitions):
        return NOON

    def read(self, spark, parts, *, uncommitted=False) -> DataFrame:
        ranges = [ends for each in parts.values() for ends in each]
        found = [row for ends in ranges for row in rows_of(self.topic.folder, *ends)]
        return spark.createDataFrame(found, ROW).select(F.struct("*").alias("kafka"))

    def stream(self, spark) -> tuple[DataFrame, ...]:
        spark.dataSource.register(Folder)
        rows = spark.readStream.format("rows").option("folder", self.topic.folder).load()
        return (rows.select(F.struct("*").alias("kafka")),)


class Folder(DataSource):
    @classmethod
    def name(cls) -> str:
        return "rows"

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema) -> DataSourceStreamReader:
        return Reader(self.options["folder"])


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Its offsets are written as Kafka's: name -> partition -> offset."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def prepareForTriggerAvailableNow(self) -> None:
        self.until = end_of(self.folder)

    def initialOffset(self) -> dict[str, Any]:
        return {"rows": {"0": 0}}

    def latestOffset(self, start, limit) -> dict[str, Any]:
        return {"rows": {"0": self.until}}

    def partitions(self, start, end) -> list[InputPartition]:
        return [InputPartition((start["rows"]["0"], end["rows"]["0"]))]

    def read(self, partition):
        return iter(rows_of(self.folder, *partition.value))


def end_of(folder: str) -> int:
    return sum(pq.read_metadata(file).num_rows for file in Path(folder).glob("*.parquet"))


def rows_of(folder: str, first: int, stop: int) -> list[tuple[Any, ...]]:
    files = sorted(Path(folder).glob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    values = (json.dumps(row, default=datetime.isoformat).encode() for row in rows[first:stop])
    return [(0, at, NOON, None, (None, value, None)) for at, value in enumerate(values, first)]


SHOP, AMOUNT = Field(name="shop", type="string"), Field(name="amount", type="bigint", required=True)
SUMS = {"sales": "count(*)", "sum": "sum(amount)"}
SALES = Aggregate(window=Tumbling(size=HOUR), keys=("shop",), measures=SUMS, counts="sales")
FIRST = ((0, "a", 1), (0, "b", 2), (1, "a", None), (9, "a", 4))
SECOND = ((10, "a", 5), (2, "a", 7), (10, "b", 6), (10, "a", 8), (30, "a", 1))
WANTED = {(0, "a", 1, 1), (0, "b", 1, 2), (9, "a", 1, 4), (10, "a", 2, 13), (10, "b", 1, 6)}
REPAIRED = WANTED | {(2, "a", 1, 7)}


def put(folder: Path, name: str, rows) -> None:
    made = [{"at": NOON + HOUR * at, "shop": shop, "amount": amount} for at, shop, amount in rows]
    pq.write_table(pa.Table.from_pylist(made), folder / f"{name}.parquet")


def held(made: Scene) -> set[tuple[Any, ...]]:
    rows = ((row.pop("window_start"), row) for row in made.table())
    return {((at - NOON) // HOUR, row["shop"], row["sales"], row["sum"]) for at, row in rows}


def test_typed_rows_are_drained_resumed_repaired_and_verified(tmp_path, spark):
    (folder := tmp_path / "rows").mkdir()
    fields = (Field(name="at", type="timestamp", required=True), SHOP, AMOUNT)
    given = {"name": "rows", "event_time": "at", "max_ahead": "30 days", "fields": fields}
    usual = {"about": "sales", "watermark_delay": "1 hour", "steps": (SALES,)}
    spec = Pipeline(name="sales", topic=Rows(folder=str(folder), **given), **usual)
    made = Scene("no.broker:9", tmp_path, spec, topic="rows", stores=1)
    put(folder, "1", FIRST)
    made.run("first")
    put(folder, "2", SECOND)
    with Images(made, tmp_path / "images", "table.committed") as images:
        made.run("second")
    for each in (over(made, images.taken["table.committed", 2]), made):
        each.run("resumed")
        assert held(each) == WANTED
        assert [row["offset"] for row in each.ops("late")] == [5]
        assert [row["offset"] for row in each.ops("quarantine")] == [2]
    repaired, _ = Repairs(made).done()
    assert (repaired.change.unexplained, held(made)) == (0, REPAIRED)
    proof, _ = Repairs(made).done("verify", NOON, NOON + HOUR * 12)
    assert proof.change.differs == 0 < proof.change.rows_after
