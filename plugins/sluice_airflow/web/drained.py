"""Drained: of which pipelines Airflow's metadata has a drain that succeeded. A root that has
nothing of one of them is another root.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import select

from sluice_airflow import ids
from sluice_airflow.tasks.xcom import DRAIN
from spark_jobs.errors import RootEmpty
from spark_jobs.ops.shown import Overview


def drained(pipelines: Sequence[str]) -> set[str]:
    """Those of these."""
    of_dags = {ids.drains(name): name for name in pipelines}
    with create_session(scoped=False) as session:
        found = session.execute(
            select(TaskInstance.dag_id)
            .where(
                TaskInstance.dag_id.in_([*of_dags]),
                TaskInstance.task_id == DRAIN,
                TaskInstance.state == TaskInstanceState.SUCCESS,
            )
            .distinct()
        )
        return {of_dags[dag_id] for (dag_id,) in found}


def elsewhere(found: Overview, root: str) -> Overview:
    """The overview, with a word on each pipeline of which Airflow knows a drain, and the root no
    run.
    """
    without = [line.pipeline for line in found.pipelines if not (line.runs or line.lacking)]
    ran = drained(without) if without else ()
    lines = (
        line.model_copy(update={"lacking": str(RootEmpty.elsewhere(root, line.pipeline))})
        if line.pipeline in ran
        else line
        for line in found.pipelines
    )
    return found.model_copy(update={"pipelines": tuple(lines)})
