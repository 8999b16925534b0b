"""The rival of Lookup, frozen: departure delays with the seats of the aircraft, by a broadcast join
of the stream with a Delta table.

Do not tune it; a new rival gets a file of its own.

The query is the expert's (expert.py), with its settings, jars, master and heap. The static side is
joined as Spark's guide says, "Stream-static joins", with the broadcast that who knows asks for.

It does less: the static side is resolved anew in each micro-batch, and noted nowhere; a corrected
row changes nothing that is written; no account, no quarantine, no lease.
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
    for name in ("brokers", "topic", "table", "checkpoint", "report", "aircraft"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    builder = SparkSession.builder.appName("delays_with_seats")
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
    aircraft = F.broadcast(spark.read.format("delta").load(given.aircraft)).alias("a")
    as_of = """
        a.tail_number = e.tail_number and (valid_from is null or valid_from <= event_time)
        and (valid_to is null or event_time < valid_to)
    """
    delays = (
        events.where("event_type = 'departure'")
        .alias("e")
        .join(aircraft, F.expr(as_of), "left")
        .select("e.*", "seats", "maker")
        .withWatermark("event_time", "2 hours")
        .dropDuplicatesWithinWatermark(["event_id"])
        .groupBy(F.window("event_time", "1 hour"), "carrier", "origin")
        .agg(
            F.count("*").alias("flights"),
            F.avg("delay_minutes").alias("mean_delay_minutes"),
            F.max("delay_minutes").alias("max_delay_minutes"),
            F.count_if("cancelled").alias("cancellations"),
            F.sum("seats").alias("seats"),
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
            "seats",
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
