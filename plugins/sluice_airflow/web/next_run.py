"""Next run: what Airflow's metadata says of each pipeline's DAG: when it runs next, and whether it
runs now.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from airflow.utils.state import State
from sqlalchemy import func, select

from sluice_airflow import ids
from spark_jobs.overview.reading import Due


def due(pipelines: Sequence[str]) -> dict[str, Due]:
    """Pipeline -> that of its DAG. One whose DAG Airflow does not know is not among them."""
    of_dags = {ids.drains(name): name for name in pipelines}
    known = select(DagModel.dag_id, DagModel.is_paused, DagModel.next_dagrun_create_after)
    working = select(DagRun.dag_id, func.min(DagRun.run_after)).where(
        DagRun.state.in_(State.unfinished_dr_states)
    )
    with create_session(scoped=False) as session:
        active = dict(
            session.execute(working.where(DagRun.dag_id.in_(of_dags)).group_by(DagRun.dag_id)).all()
        )
        rows = session.execute(known.where(DagModel.dag_id.in_(of_dags)))
        return {
            of_dags[dag_id]: Due(bool(paused), at, active.get(dag_id))
            for dag_id, paused, at in rows
        }
