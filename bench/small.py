"""The honest floor, frozen: what somebody writes who has small data and needs none of Sluice's
promises. The same rows by librdkafka, DuckDB and delta-rs in one process, without a JVM.

Do not tune it; a new rival gets a file of its own.

It goes on where it ended: offsets, seen ids and open windows are in one file of DuckDB's. A kill
between the append to the table and the commit of that file doubles rows. Late records are dropped,
and so are those that are no JSON or have no id or time; nothing is counted, kept or judged.
"""

import argparse
import json
import time
from pathlib import Path

import duckdb
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from deltalake import write_deltalake

AT_ONCE = 50_000
DELAY = "interval 2 hours"
STRUCTURE = json.dumps(
    {
        "event_id": "VARCHAR",
        "event_type": "VARCHAR",
        "event_time": "TIMESTAMPTZ",
        "carrier": "VARCHAR",
        "origin": "VARCHAR",
        "delay_minutes": "INTEGER",
        "cancelled": "BOOLEAN",
    }
)
STATE = """
    create table if not exists offsets (partition int primary key, next bigint);
    create table if not exists seen (event_id varchar primary key, event_time timestamptz);
    create table if not exists watermark (until timestamptz);
    create table if not exists windows (
        window_start timestamptz, carrier varchar, origin varchar, flights bigint, minutes bigint,
        delays bigint, most int, cancellations bigint, primary key (window_start, carrier, origin)
    );
"""
READ = f"""
    create temp table departures as
    with texts as (
        select decode(value) as text from records
    ), parsed as (
        select case when json_valid(text) then from_json(text, '{STRUCTURE}') end as event
        from texts
    )
    select distinct on (event_id) *
    from (select unnest(event) from parsed)
    where event_id is not null and event_time is not null and event_type = 'departure'
      and event_time > coalesce((select max(until) from watermark), '-infinity')
      and event_id not in (select event_id from seen)
"""
KEEP = """
    insert into seen select event_id, event_time from departures;
    insert into windows
    select time_bucket(interval 1 hour, event_time), carrier, origin, count(*),
        coalesce(sum(delay_minutes), 0), count(delay_minutes), max(delay_minutes),
        count(*) filter (cancelled)
    from departures group by all
    on conflict do update set flights = flights + excluded.flights,
        minutes = minutes + excluded.minutes, delays = delays + excluded.delays,
        most = greatest(most, excluded.most),
        cancellations = cancellations + excluded.cancellations;
"""
CLOSED = """
    select window_start, window_start + interval 1 hour as window_end, carrier, origin, flights,
        minutes / nullif(delays, 0) as mean_delay_minutes, most as max_delay_minutes, cancellations
    from windows where window_start + interval 1 hour <= (select max(until) from watermark)
"""
FORGET = """
    delete from windows where window_start + interval 1 hour <= (select max(until) from watermark);
    delete from seen where event_time <= (select max(until) from watermark);
"""


def main() -> None:
    """Read what is new into the table, and write the seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    began = time.monotonic()
    with duckdb.connect(f"{given.checkpoint}.duckdb", config={"threads": 2}) as db:
        db.execute("set timezone = 'UTC'")
        db.execute(STATE)
        starts = dict(db.sql("select partition, next from offsets").fetchall())
        records, ends = read(given.brokers, given.topic, starts)
        db.register("records", records)
        db.begin()
        db.execute(READ)
        db.execute(KEEP)
        db.execute(f"insert into watermark select max(event_time) - {DELAY} from departures")
        write_deltalake(given.table, db.sql(CLOSED).to_arrow_table(), mode="append")
        db.execute(FORGET)
        db.executemany("insert or replace into offsets values (?, ?)", list(ends.items()))
        db.commit()
    told = {"query_seconds": time.monotonic() - began}
    Path(given.report).write_text(json.dumps(told))


def read(brokers: str, topic: str, starts: dict[int, int]) -> tuple[pa.Table, dict[int, int]]:
    """The values of all records from `starts` on, as column `value`, binary; where they end."""
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "small", "check.crcs": False})
    ends = {}
    for partition in consumer.list_topics(topic).topics[topic].partitions:
        _, ends[partition] = consumer.get_watermark_offsets(TopicPartition(topic, partition))
    waiting = {each: end for each, end in ends.items() if end > starts.get(each, 0)}
    consumer.assign([TopicPartition(topic, each, starts.get(each, 0)) for each in waiting])
    parts = [pa.table({"value": pa.array([], pa.binary())})]
    while waiting:
        messages = consumer.consume(AT_ONCE, timeout=1)
        for message in messages:
            if message.error():
                raise SystemExit(f"{topic}: {message.error()}")
            if message.offset() == waiting.get(message.partition(), 0) - 1:
                del waiting[message.partition()]
        values = pa.array([message.value() for message in messages], pa.binary())
        parts.append(pa.table({"value": values}))
    consumer.close()
    return pa.concat_tables(parts), ends


if __name__ == "__main__":
    main()
