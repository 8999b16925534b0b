"""Drains one after the other in a process of its own: a JSON object a line in, a report out."""

import json
import sys

from spark_jobs.registry import find as registry
from spark_jobs.runs.drain import drain
from spark_jobs.settings.installation import Settings
from tests.harness.session import start

PATIENT = {"spark.network.timeout": "6h", "spark.executor.heartbeatInterval": "10s"}
"""A JVM that lives on by a clock put on an hour hears nothing for an hour: one each instead."""


def main() -> None:
    """Until standard input ends."""
    settings = Settings.from_environment()
    session = start(settings, **PATIENT)
    for line in sys.stdin:
        wanted = json.loads(line)
        spec = registry.load(wanted["pipeline"])
        spec = spec.model_copy(
            update={"topic": spec.topic.model_copy(update={"name": wanted["topic"]})}
        )
        report = drain(spec, settings._replace(root=wanted["root"]), wanted["run_id"])
        sys.stdout.write(report.model_dump_json() + "\n")
        sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main()
