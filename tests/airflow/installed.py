"""A Sluice that is installed for a test: a root, jars that are none, a spark-submit of some shell."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.messages.report import Report
from tests.harness.roots import ROOT

SPARK = '{"conn_type": "spark", "host": "local[2]"}'
JARS = ("spark/delta-spark_0.jar",)


class Installed:
    """What is None stays as it is set."""

    def __init__(
        self,
        folder: Path,
        patch: pytest.MonkeyPatch,
        root: str | None = ROOT,
        kafka: str | None = "127.0.0.1:1",
        jars: tuple[str, ...] = JARS,
    ):
        self.root, self.bin, self.called = folder / (root or ""), folder / "bin", folder / "called"
        for path in (self.bin / "spark-submit", *(folder / "jars" / name for name in jars)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o700)
        patch.setattr(sys, "executable", str(self.bin / "python"))
        settings = {"ROOT": root and self.root, "KAFKA": kafka, "JARS": folder / "jars" / "spark"}
        for name, value in settings.items():
            if value is not None:
                patch.setenv(f"SLUICE_{name}", str(value))
        patch.setenv("AIRFLOW_CONN_SLUICE_SPARK", SPARK)

    def spark_does(self, *lines: str):
        """Behind a note of the words that it was given, one a line."""
        noted = f"printf '%s\\n' \"$@\" >>'{self.called}'"
        (self.bin / "spark-submit").write_text("\n".join(("#!/bin/sh", noted, *lines)))

    @property
    def jobs(self) -> list[str]:
        """What each spark-submit was given: its last word."""
        return [word for word in self.called.read_text().splitlines() if word.startswith("{")]

    def spark_reports(self, report: Report, exit_status: int = 0):
        """It leaves the report where its job says, if it does."""
        report.write(self.bin / "report.json")
        self.spark_does(
            "for job; do :; done",
            """at=$(printf '%s' "$job" | sed -n 's/.*"report":"\\([^"]*\\)".*/\\1/p')""",
            f'[ -z "$at" ] || install -D \'{self.bin / "report.json"}\' "$at"',
            f"exit {exit_status}",
        )


def executed(
    task: Any, pulled: Callable[..., Any] = lambda **_: None, try_number: int = 1, **context: Any
) -> Any:
    """What the task gives to Airflow's task runner. `pulled`: what was handed over to it."""
    ti = SimpleNamespace(
        try_number=try_number, max_tries=2, map_index=-1, stats_tags={}, xcom_pull=pulled,
        xcom_push=lambda **_: None,
    )  # fmt: skip
    try:
        return task.execute({"ti": ti, "task": task, "run_id": "manual__1"} | context)
    finally:
        submission = getattr(task, "submission", None)
        process = getattr(getattr(submission, "hook", None), "_submit_sp", None)
        if process is not None:
            process.stdout.close()  # the provider leaves it open, of which Python warns
