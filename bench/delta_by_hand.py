"""The rival of a Table as a topic, frozen: departure delays by a stream over a Delta table.

Do not tune it; a new rival gets a file of its own.

It is Delta's documentation, "Table streaming reads and writes", with the last steps of the expert's
query (expert.py), and its settings, jars, master and heap.

It does less: it ends for good where the table's rows are replaced; no account, no checks, no lease.
"""

import argparse
import json
import time
from pathlib import Path

from pyspark.sql import SparkSession, functions as F

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
    """Drain the source into the table, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report", "source"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    builder = SparkSession.builder.appName("departures_by_hour")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    delays = (
        spark.readStream.format("delta")
        .load(given.source)
        .withWatermark("event_time", "2 hours")
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
