"""The competitor, frozen: departure_delays as a plain PySpark script.

Do not tune it; a new rival gets a file of its own.

Why it is fair. It is the query as Spark's Structured Streaming guide teaches it, by somebody who
knows the guide well: a schema for from_json, a watermark, dropDuplicatesWithinWatermark, a window,
append mode, availableNow, one checkpoint, Delta's session settings from Delta's own quick start. It
runs on the same master with the same jars and the same heap, reads the same topic, writes the same
rows (bench holds both tables against DuckDB), and its log is quiet. Everything else is Spark's
default, because that is what a user has who followed the guide: 200 shuffle partitions, the default
state store, adaptive execution off in streams by Spark's own choice.

It does less: no account of the offsets, no quarantine, no checks, no lease. That is in its favour.

Malformed records are dropped as the guide does it: from_json gives null, and a record without an id
or a time is no event. It would let some malformed records through that Sluice refuses (trailing
garbage, a number that does not fit), and one clock in the future would make every later record
late: bench/workload.py keeps those out, for both.
"""

import argparse
import json
import time
from pathlib import Path

from pyspark.sql import SparkSession, functions as F

SCHEMA = """
    event_id string, event_type string, event_time timestamp, scheduled_time timestamp, carrier string, flight int,
    tail_number string, origin string, destination string, delay_minutes int, cancelled boolean, distance_miles int
"""


def main() -> None:
    """Drain the topic into the table, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--most", help="offsets of a batch at most; default: no limit")
    given = parser.parse_args()

    spark = SparkSession.builder.appName("departure_delays").getOrCreate()
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
        .withWatermark("event_time", "2 hours")
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
