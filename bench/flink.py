"""Flink SQL by PyFlink, frozen: the same rows by one bounded job of a mini cluster, in an
environment of its own (.local/flink).

Do not tune it; a new rival gets a file of its own.

Ids are deduplicated by their first row, windows are Flink's tumbling ones behind a watermark of two
hours. It writes lines of JSON, as the file connector's own formats need no other jar, and resumes
nothing: between two bounded jobs Flink would need a savepoint. At its end it closes every window;
those that a stream would still hold are left out by who turns the lines into a table (arms.py).
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

FLIGHTS = """
    create table flights (
        event_id string, event_type string, event_time timestamp_ltz(3), carrier string,
        origin string, delay_minutes int, cancelled boolean,
        event_at as coalesce(event_time, to_timestamp_ltz(0, 3)), arrived as proctime(),
        watermark for event_at as event_at - interval '2' hour
    ) with (
        'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{brokers}',
        'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
        'format' = 'json', 'json.ignore-parse-errors' = 'true',
        'json.timestamp-format.standard' = 'ISO-8601'
    )
"""
DELAYS = """
    create table delays (
        window_start timestamp(3), window_end timestamp(3), carrier string, origin string,
        flights bigint, minutes bigint, delays bigint, max_delay_minutes int, cancellations bigint
    ) with ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'json')
"""
QUERY = """
    insert into delays
    with departures as (
        select event_id, event_at, carrier, origin, delay_minutes, cancelled from (
            select *, row_number() over (partition by event_id order by arrived) as place
            from flights
            where event_id is not null and event_time is not null and event_type = 'departure'
        ) where place = 1
    )
    select window_start, window_end, carrier, origin, count(*), cast(sum(delay_minutes) as bigint),
        count(delay_minutes), max(delay_minutes), count(*) filter (where cancelled)
    from table(tumble(table departures, descriptor(event_at), interval '1' hour))
    group by window_start, window_end, carrier, origin
"""


def main() -> None:
    """Read the topic into lines, and write the query's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in ("brokers", "topic", "table", "checkpoint", "report", "jar"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()

    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    flink.get_config().set("pipeline.jars", f"file://{given.jar}")
    flink.get_config().set("parallelism.default", "2")
    flink.get_config().set("table.local-time-zone", "UTC")
    flink.get_config().set("table.exec.state.ttl", "0")
    flink.execute_sql(FLIGHTS.format(topic=given.topic, brokers=given.brokers))
    flink.execute_sql(DELAYS.format(folder=given.checkpoint))
    began = time.monotonic()
    flink.execute_sql(QUERY).wait()
    told = {"query_seconds": time.monotonic() - began}
    Path(given.report).write_text(json.dumps(told))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
