"""The second competitor, frozen: departure_delays as somebody writes it who knows what is slow.

Do not tune it; a new rival gets a file of its own.

The query is the guide's (baseline.py), and so are the jars, the master and the heap. What an expert
adds: as many shuffle partitions as the machine has cores, RocksDB with changelog checkpointing as
the state store, one partition for Delta's own reading of its log, and Spark's web UI off. It writes
the same rows, and bench holds them against DuckDB too.

It does less than Sluice: no account of the offsets, no quarantine, no checks, no lease.
"""

import argparse
import json
import time
from pathlib import Path

from pyspark.sql import SparkSession, functions as F

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


def main() -> None:
    """Drain the topic into the table, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--most", help="offsets of a batch at most; default: no limit")
    parser.add_argument("--delay", default="2 hours", help="of the watermark")
    given = parser.parse_args()

    builder = SparkSession.builder.appName("departure_delays")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    limit = {"maxOffsetsPerTrigger": given.most} if given.most else {}
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given.brokers)
        .option("subscribe", given.topic)
        .option("startingOffsets", "earliest")
        .options(**limit)
        .load()
        .select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event"))
        .select("event.*")
        .where("event_id is not null and event_time is not null")
    )
    delays = (
        events.where("event_type = 'departure'")
        .withWatermark("event_time", given.delay)
        .dropDuplicatesWithinWatermark(["event_id"])
        .groupBy(F.window("event_time", "1 hour"), "carrier", "origin")
        .agg(
            F.count("*").alias("flights"),
            F.avg("delay_minutes").alias("mean_delay_minutes"),
            F.max("delay_minutes").alias("max_delay_minutes"),
            F.count_if("cancelled").alias("cancellations"),
        )
        .select(
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
            "carrier",
            "origin",
            "flights",
            "mean_delay_minutes",
            "max_delay_minutes",
            "cancellations",
        )
    )

    began = time.monotonic()
    query = (
        delays.writeStream.format("delta")
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
