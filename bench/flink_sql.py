"""Flink SQL for the rows with several inputs, frozen: the statements of a file of bench/flink_sql
as one bounded job of a mini cluster.

Do not tune it; a new rival gets a file of its own.

As flink.py it writes lines of JSON, resumes nothing, and closes every window at its end.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

COMMON = ("brokers", "topic", "table", "checkpoint", "report", "jar", "sql")


def main() -> None:
    """Run the statements, each behind the one before; write the last one's seconds as JSON."""
    parser = argparse.ArgumentParser()
    for name in COMMON:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument(
        "--beside", default="", help="the second input: a topic, or a file of lines"
    )
    given = parser.parse_args()

    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    flink.get_config().set("pipeline.jars", f"file://{given.jar}")
    flink.get_config().set("parallelism.default", "2")
    flink.get_config().set("table.local-time-zone", "UTC")
    flink.get_config().set("table.exec.state.ttl", "0")
    lines = Path(given.sql).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    *before, last = text.format(**vars(given)).split(";")
    for statement in before:
        flink.execute_sql(statement)
    began = time.monotonic()
    flink.execute_sql(last).wait()
    told = {"query_seconds": time.monotonic() - began}
    Path(given.report).write_text(json.dumps(told))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
