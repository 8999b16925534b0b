"""Drains one after the other in a process of its own, as the code of a drain is, and without a JVM
for each.

python -m tests.harness.drains reads from standard input a JSON object a line: pipeline, topic,
root, run_id; and answers each with the report, as a line.
"""

from __future__ import annotations

import json
import sys

from spark_jobs.registry import find as registry
from spark_jobs.runs.drain import drain
from spark_jobs.settings.installation import Settings
from tests.harness.session import start

PATIENT = {"spark.network.timeout": "6h", "spark.executor.heartbeatInterval": "10s"}
"""By a clock that is put on by an hour, a JVM that lives on has not heard of itself for an hour:
here each drain stands for one in a process of its own.
"""


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
