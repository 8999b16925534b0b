"""The entry that spark-submit is given: `main.py drain <pipeline> --report <path> --run-id <id>`.

Ends with 0 when the drain succeeded, otherwise with the exit status of the error in the report (docs/operations.md).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from pathlib import Path


def main(words: list[str]) -> int:
    """Run one command and leave a report, whatever happens short of a kill."""
    wanted = _parse(words)
    os.environ["TZ"] = "UTC"
    time.tzset()  # Python state gets naive local times from Spark
    from spark_jobs.contract.errors import SluiceError, SparkFailed  # noqa: PLC0415 - after the time zone is settled

    try:
        from spark_jobs.contract import registry  # noqa: PLC0415
        from spark_jobs.contract.settings import Settings  # noqa: PLC0415
        from spark_jobs.drain import drain  # noqa: PLC0415

        report = drain(registry.load(wanted.pipeline), Settings.from_environment(), wanted.run_id, say)
        report.write(wanted.report)
        problem = report.problem.error() if report.problem else None
    except SluiceError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - the last resort: an operator gets one line, a developer asks for the rest
        if os.environ.get("SLUICE_TRACEBACK"):
            traceback.print_exc()
        problem = SparkFailed(f"{type(error).__name__}: {error}".splitlines()[0], "Set SLUICE_TRACEBACK=1 for the stack trace.")
    if problem:
        say(str(problem))
        return problem.exit_status
    return 0


def say(line: str) -> None:
    """One line to whoever watches: a terminal, or Airflow's task log."""
    print(line, flush=True)  # noqa: T201


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="main.py", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("drain", help="consume what Kafka holds now, and stop")
    command.add_argument("pipeline", help="a folder under spark_jobs/pipelines")
    command.add_argument("--report", type=Path, required=True, help="where to write what happened, as JSON")
    command.add_argument("--run-id", required=True, help="the run's name in the ops tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
