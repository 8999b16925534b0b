"""What tasks pass on by XCom, so that each can run on any worker: plan its plan, and drain its
report.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from spark_jobs.contract.errors import ReportMissing
from spark_jobs.contract.report import Report

PLAN, DRAIN, PUBLISH = "plan", "drain", "publish"
"""The ids of these tasks."""


def planned_records(context: Context) -> int:
    """The number of new offsets in this DAG run's plan; 0 without a plan."""
    planned = context["ti"].xcom_pull(task_ids=PLAN) or {}
    return int(planned.get("new_offsets", 0))


def to_xcom(report: Report) -> dict[str, Any]:  # JSON, as XCom takes it
    """The value that drain returns."""
    return report.model_dump(mode="json")


def report_from_xcom(context: Context) -> Report:
    """The report of this DAG run's drain. Raises ReportMissing without one."""
    value = context["ti"].xcom_pull(task_ids=DRAIN)
    if value is None:
        raise ReportMissing(
            f"the task {DRAIN} of this DAG run has left no report.",
            f"Clear {DRAIN} to run it again.",
        )
    return Report.model_validate(value)
