"""Ids: how a pipeline's DAGs are called in Airflow. SLUICE_DAG_PREFIX keeps them apart from others'
DAGs, and two installations' in one Airflow from each other. And how a drain's tasks are called in a
group of another DAG.
"""

from __future__ import annotations

from airflow.sdk import Context

from spark_jobs.settings.installation import dag_prefix

_BACKFILLS = "__backfill"
_ACCEPTS = "__accept"


def drains(pipeline: str) -> str:
    """The DAG that drains it."""
    return f"{dag_prefix()}{pipeline}"


def backfills(pipeline: str) -> str:
    """The DAG that computes ranges of it again."""
    return f"{drains(pipeline)}{_BACKFILLS}"


def accepts(pipeline: str) -> str:
    """The DAG that takes a person's decision about it."""
    return f"{drains(pipeline)}{_ACCEPTS}"


def maintains() -> str:
    """The one DAG that maintains all tables."""
    return drains("sluice_maintain")


def proves() -> str:
    """The one DAG that proves published days."""
    return drains("sluice_prove")


def pipeline_of(dag_id: str) -> str:
    """The pipeline of one of its DAGs."""
    return dag_id.removeprefix(dag_prefix()).removesuffix(_BACKFILLS).removesuffix(_ACCEPTS)


def group_of(context: Context) -> str:
    """What the ids of the task's group begin with, such as "orders."; empty outside a group."""
    group, dot, _ = context["task"].task_id.rpartition(".")
    return f"{group}{dot}"
