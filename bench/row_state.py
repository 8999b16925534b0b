"""The rival of Python group state, frozen: tallies by Spark's transformWithState, row by row.

Do not tune it; a new rival gets a file of its own.

The settings are the expert's (expert.py), the logic is that of bench/pipelines/tallies. Spark runs
transformWithState on RocksDB alone. It does less than Sluice: see expert.py.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession, functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

SCHEMA = """
    event_id string, event_type string, event_time timestamp, scheduled_time timestamp,
    carrier string, flight int, tail_number string, origin string, destination string,
    delay_minutes int, cancelled boolean, distance_miles int
"""


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.databricks.delta.snapshotPartitions": "1",
}


class Tally(StatefulProcessor):
    """State: the key's records, and the sum of their minutes."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        both = StructType([StructField("records", LongType()), StructField("minutes", LongType())])
        self._tally = handle.getValueState("tally", both)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002 - Spark names them
        records, minutes = self._tally.get() or (0, 0)
        for row in rows:
            records += 1
            minutes += row.delay_minutes
        self._tally.update((records, minutes))
        yield Row(tail_number=key[0], records=records, minutes=minutes)

    def close(self) -> None:
        """Nothing to release."""


def main() -> None:
    """Drain the topic into the table, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    builder = SparkSession.builder.appName("tallies")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given.brokers)
        .option("subscribe", given.topic)
        .option("startingOffsets", "earliest")
        .load()
        .select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event"))
        .select("event.*")
        .where("event_id is not null and event_time is not null")
    )
    tallies = events.groupBy("tail_number").transformWithState(
        Tally(), "tail_number string, records bigint, minutes bigint", "Append", "None"
    )

    began = time.monotonic()
    query = (
        tallies.writeStream.format("delta")
        .outputMode("append")
        .option("checkpointLocation", given.checkpoint)
        .trigger(availableNow=True)
        .start(given.table)
    )
    query.awaitTermination()
    seconds = time.monotonic() - began
    batches = len(list((Path(given.checkpoint) / "commits").glob("[0-9]*")))
    told = {"query_seconds": seconds, "batches": batches}
    Path(given.report).write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main()
