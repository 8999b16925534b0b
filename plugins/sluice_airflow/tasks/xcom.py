"""What tasks pass on by XCom, so that each can run on any worker: plan its plan, drain and stage
their report.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from sluice_airflow.ids import group_of
from spark_jobs.errors import ReportMissing
from spark_jobs.messages.kind import WHOLE_KINDS
from spark_jobs.messages.report import Report

PLAN, DRAIN, PUBLISH, REPAIR = "plan", "drain", "publish", "repair"
CHECK_OUTPUT, CHECK_STATE = "check_output", "check_state"
OF_DRAIN = (PLAN, DRAIN, CHECK_OUTPUT, CHECK_STATE, PUBLISH)
STAGE, APPROVE, SWAP = "stage", "approve", "swap"
"""The ids of these tasks; in a group the group's id and a dot come before them."""
SHOWN = "shown"
"""The key of what a rebuild's question was about, beside the answer to it."""


def planned_records(context: Context) -> int:
    """The number of new offsets in this DAG run's plan; 0 without a plan."""
    planned = context["ti"].xcom_pull(task_ids=f"{group_of(context)}{PLAN}") or {}
    return int(planned.get("new_offsets", 0))


def planned_repair(context: Context) -> dict[str, Any]:
    """What the plan of this DAG run's repair has passed on. Raises ReportMissing without one."""
    planned = context["ti"].xcom_pull(task_ids=PLAN)
    if planned is None:
        raise ReportMissing.no_plan()
    return dict(planned)


def plans_rebuild(context: Context) -> bool:
    """Whether this DAG run is a rebuild, by its plan."""
    return (context["ti"].xcom_pull(task_ids=PLAN) or {}).get("kind") in WHOLE_KINDS


def to_xcom(report: Report) -> dict[str, Any]:  # JSON, as XCom takes it
    """The value that drain and stage return."""
    return report.model_dump(mode="json")


def report_from_xcom(context: Context, task: str = DRAIN) -> Report:
    """The report of this task of the DAG run, or of its group. Raises ReportMissing without one."""
    value = context["ti"].xcom_pull(task_ids=f"{group_of(context)}{task}")
    if value is None:
        raise ReportMissing.task_left_no_report(task=task)
    return Report.model_validate(value)
