"""Drained: pipelines with a drain that succeeded in Airflow's metadata. A root that has nothing of
one of them is another root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import select

from sluice_airflow import ids
from sluice_airflow.tasks.xcom import DRAIN
from spark_jobs.errors import RootEmpty
from spark_jobs.overview.json_of_overview import PipelineLine
from spark_jobs.overview.lines import unread
from spark_jobs.overview.reading import Due


def drained(pipelines: Sequence[str]) -> set[str]:
    """Whose drain succeeded."""
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


def refuse_absent(dag_id: str, run_id: str, root: str) -> None:
    """Raise RootEmpty for a DAG run without a run in the root, where Airflow has a drain of it that
    succeeded.
    """
    with create_session(scoped=False) as session:
        found = session.execute(
            select(TaskInstance.task_id).where(
                TaskInstance.dag_id == dag_id,
                TaskInstance.run_id == run_id,
                TaskInstance.task_id == DRAIN,
                TaskInstance.state == TaskInstanceState.SUCCESS,
            )
        ).first()
    if found:
        raise RootEmpty.run_absent(root=root, run=run_id)


def elsewhere(
    found: Sequence[PipelineLine], root: str, due: Mapping[str, Due]
) -> list[PipelineLine]:
    """These, with a word on each pipeline with a drain in Airflow, and no run in the root."""
    without = [line.pipeline for line in found if not (line.runs or line.lacking)]
    ran = drained(without) if without else ()
    return [
        unread(
            line.pipeline,
            due.get(line.pipeline),
            RootEmpty.elsewhere(root=root, pipeline=line.pipeline),
        )
        if line.pipeline in ran
        else line
        for line in found
    ]
