"""The limit of the machine, frozen: the same rows by DuckDB in one process, without a JVM.

Do not tune it; a new rival gets a file of its own.

It reads the whole topic by librdkafka, decodes and computes with as many threads as `local[2]` has,
and writes a Delta table by delta-rs. Like the Spark batch (batch.py) it keeps no state and resumes
nothing: it shows what the cores can do, not another way to do the work. Records that are no JSON,
or have no id or time, are dropped; the windows that are not closed yet are left out by the
watermark that a stream would have.
"""

import argparse
import json
import time
from pathlib import Path

import duckdb
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from deltalake import write_deltalake

THREADS = 2
AT_ONCE = 50_000
STRUCTURE = json.dumps(
    {
        "event_id": "VARCHAR",
        "event_type": "VARCHAR",
        "event_time": "TIMESTAMPTZ",
        "scheduled_time": "TIMESTAMPTZ",
        "carrier": "VARCHAR",
        "flight": "INTEGER",
        "tail_number": "VARCHAR",
        "origin": "VARCHAR",
        "destination": "VARCHAR",
        "delay_minutes": "INTEGER",
        "cancelled": "BOOLEAN",
        "distance_miles": "INTEGER",
    }
)
QUERY = f"""
    with texts as (
        select decode(value) as text from records
    ), parsed as (
        select case when json_valid(text) then from_json(text, '{STRUCTURE}') end as event from texts
    ), departures as (
        select distinct on (event_id) event_id, event_time, carrier, origin, delay_minutes, cancelled
        from (select unnest(event) from parsed)
        where event_id is not null and event_time is not null and event_type = 'departure'
    ), windows as (
        select time_bucket(interval 1 hour, event_time) as window_start,
            window_start + interval 1 hour as window_end, carrier, origin, count(*) as flights,
            avg(delay_minutes) as mean_delay_minutes, max(delay_minutes) as max_delay_minutes,
            count(*) filter (cancelled) as cancellations
        from departures group by all
    )
    select * from windows where window_end <= (select max(event_time) - interval 2 hours from departures)
"""


def main() -> None:
    """Read the topic into the table, and write the seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    began = time.monotonic()
    records = read(given.brokers, given.topic)
    read_seconds = time.monotonic() - began
    with duckdb.connect(config={"threads": THREADS}) as db:
        db.execute("set timezone = 'UTC'")
        db.register("records", records)
        rows = db.sql(QUERY).to_arrow_table()
    write_deltalake(given.table, rows)
    seconds = time.monotonic() - began
    told = {"query_seconds": seconds, "read_seconds": read_seconds}
    Path(given.report).write_text(json.dumps(told))


def read(brokers: str, topic: str) -> pa.Table:
    """The values of all records that the topic holds now, as column `value`, binary."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
            "check.crcs": False,
        }
    )
    partitions = consumer.list_topics(topic).topics[topic].partitions
    ends = {}
    for partition in partitions:
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition))
        if end > first:
            ends[partition] = end
    consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
    parts = []
    while ends:
        messages = consumer.consume(AT_ONCE, timeout=1)
        for message in messages:
            if message.error():
                raise SystemExit(f"{topic}: {message.error()}")
            if message.offset() == ends.get(message.partition(), 0) - 1:
                del ends[message.partition()]
        values = pa.array([message.value() for message in messages], pa.binary())
        parts.append(pa.table({"value": values}))
    consumer.close()
    return pa.concat_tables(parts)


if __name__ == "__main__":
    main()
