"""What drain hands to the tasks after it: its whole report, by XCom, so that they can run on any worker."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from spark_jobs.contract.errors import ReportMissing
from spark_jobs.contract.report import Report

DRAIN = "drain"
"""The id of the task that hands over."""


def hand_over(report: Report) -> dict[str, Any]:
    """The value that drain returns."""
    return report.model_dump(mode="json")


def handed_over(context: Context) -> Report:
    """The report of this DAG run's drain. Raises ReportMissing where there is none."""
    given = context["ti"].xcom_pull(task_ids=DRAIN)
    if given is None:
        raise ReportMissing(f"the task {DRAIN} of this DAG run has handed over no report.", f"Clear {DRAIN} to run it again.")
    return Report.model_validate(given)
