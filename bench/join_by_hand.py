"""The rival of Join, frozen: departures with their arrivals by a join of two streams.

Do not tune it; a new rival gets a file of its own.

It is Spark's guide, "Stream-stream joins", as somebody writes it who knows what is slow: watermark
and deduplication on both sides, a range of event times, RocksDB, two shuffle partitions
(expert.py). Same jars, master and heap.

It does less: late records of either side are dropped and not kept; no account, no checks, no lease.
"""

import argparse
import json
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions as F

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
FOUND = [
    "event_time",
    "scheduled_time",
    "delay_minutes",
    "event_type",
    "carrier",
    "flight",
    "tail_number",
    "origin",
    "destination",
    "cancelled",
    "distance_miles",
]


def main() -> None:
    """Drain both topics into the table, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report", "arrivals"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    builder = SparkSession.builder.appName("flown")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def events(topic: str) -> DataFrame:
        return (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", given.brokers)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
            .select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event"))
            .select("event.*")
            .where("event_id is not null and event_time is not null")
            .withWatermark("event_time", "2 hours")
            .dropDuplicatesWithinWatermark(["event_id"])
        )

    arrivals = events(given.arrivals).select(
        F.col("event_id").alias("arrival_event_id"),
        *(F.col(name).alias(f"arrival_{name}") for name in FOUND),
    )
    within = """
        event_id = arrival_event_id and arrival_event_time >= event_time
        and arrival_event_time <= event_time + interval 18 hours
    """
    flown = events(given.topic).join(arrivals, F.expr(within), "leftOuter").drop("arrival_event_id")

    began = time.monotonic()
    query = (
        flown.writeStream.format("delta")
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
