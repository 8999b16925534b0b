"""What tasks hand on by XCom, so that they can run on any worker: plan its plan, drain its whole report."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from spark_jobs.contract.errors import ReportMissing
from spark_jobs.contract.report import Report

PLAN, DRAIN = "plan", "drain"
"""The ids of the tasks that hand over."""


def planned_records(context: Context) -> int:
    """How many offsets this DAG run's plan found to read; 0 where that is not known."""
    planned = context["ti"].xcom_pull(task_ids=PLAN) or {}
    return int(planned.get("new_offsets", 0))


def hand_over(report: Report) -> dict[str, Any]:
    """The value that drain returns."""
    return report.model_dump(mode="json")


def handed_over(context: Context) -> Report:
    """The report of this DAG run's drain. Raises ReportMissing where there is none."""
    given = context["ti"].xcom_pull(task_ids=DRAIN)
    if given is None:
        raise ReportMissing(f"the task {DRAIN} of this DAG run has handed over no report.", f"Clear {DRAIN} to run it again.")
    return Report.model_validate(given)
