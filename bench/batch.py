"""The third competitor, frozen: the same rows by one Spark batch query over the whole topic.

Do not tune it; a new rival gets a file of its own.

It keeps no state and resumes nothing, so each delivery would read everything again: it is the limit
of what Spark's engine takes for these rows, not another way to do the work. Deduplication is
dropDuplicates by event_id, since no id of the workload comes back. The windows that Sluice has not
closed yet are left out by the watermark that a stream would have.
"""

import argparse
import json
import time
from pathlib import Path

from pyspark.sql import SparkSession, Window, functions as F

SCHEMA = """
    event_id string, event_type string, event_time timestamp, scheduled_time timestamp,
    carrier string, flight int, tail_number string, origin string, destination string,
    delay_minutes int, cancelled boolean, distance_miles int
"""


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def main() -> None:
    """Drain the topic into the table, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    builder = SparkSession.builder.appName("departure_delays")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    events = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", given.brokers)
        .option("subscribe", given.topic)
        .load()
        .select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event"))
        .select("event.*")
        .where("event_id is not null and event_time is not null")
    )
    delays = (
        events.where("event_type = 'departure'")
        .dropDuplicates(["event_id"])
        .groupBy(F.window("event_time", "1 hour"), "carrier", "origin")
        .agg(
            F.count("*").alias("flights"),
            F.avg("delay_minutes").alias("mean_delay_minutes"),
            F.max("delay_minutes").alias("max_delay_minutes"),
            F.count_if("cancelled").alias("cancellations"),
            F.max("event_time").alias("newest"),
        )
        .withColumn(
            "watermark", F.max("newest").over(Window.partitionBy()) - F.expr("interval 2 hours")
        )
        .where("window.end <= watermark")
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
    delays.write.format("delta").save(given.table)
    seconds = time.monotonic() - began
    Path(given.report).write_text(json.dumps({"query_seconds": seconds}))
    spark.stop()


if __name__ == "__main__":
    main()
