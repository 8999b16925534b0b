"""The rival of Latest, frozen: the newest flight of each aircraft by foreachBatch and MERGE.

Do not tune it; a new rival gets a file of its own.

Why it is fair. It is Delta's documentation, "Upsert from streaming queries using foreachBatch" and
"Write change data into a Delta table": the newest change of each key of the micro-batch, then MERGE
with whenMatchedDelete, whenMatchedUpdateAll and whenNotMatchedInsertAll, and the condition on the
order in both, so that an older change of a later batch overwrites nothing. Few shuffle partitions
and one for Delta's reading of its log, as who knows sets them (expert.py). Same jars, master, heap.

It does less: a delete is not remembered, so an older change brings the row back (the benchmark's
changes have none behind a delete of their key); no account, no quarantine, no lease.
"""

import argparse
import json
import time
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window, functions as F

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

    builder = SparkSession.builder.appName("present_aircraft")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    changes = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given.brokers)
        .option("subscribe", given.topic)
        .option("startingOffsets", "earliest")
        .load()
        .select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("event"))
        .select("event.*")
        .where("event_id is not null and event_time is not null and tail_number is not null")
    )
    DeltaTable.createIfNotExists(spark).location(given.table).addColumns(changes.schema).execute()

    def upsert(batch: DataFrame, _: int) -> None:
        newest = Window.partitionBy("tail_number").orderBy(F.desc("event_time"), F.desc("event_id"))
        last = batch.withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n")
        newer = "(n.event_time, n.event_id) > (o.event_time, o.event_id)"
        (
            DeltaTable.forPath(batch.sparkSession, given.table)
            .alias("o")
            .merge(last.alias("n"), "o.tail_number = n.tail_number")
            .whenMatchedDelete(f"{newer} and n.cancelled")
            .whenMatchedUpdateAll(newer)
            .whenNotMatchedInsertAll("not n.cancelled")
            .execute()
        )

    began = time.monotonic()
    query = (
        changes.writeStream.foreachBatch(upsert)
        .option("checkpointLocation", given.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = time.monotonic() - began
    batches = len(list((Path(given.checkpoint) / "commits").glob("[0-9]*")))
    told = {"query_seconds": seconds, "batches": batches}
    Path(given.report).write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main()
