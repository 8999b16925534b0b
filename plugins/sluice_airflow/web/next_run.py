"""Next run: what Airflow's metadata says of each pipeline's DAG: when it runs next, whether it runs
now, and whether its last run failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, State
from sqlalchemy import func, select

from sluice_airflow import ids
from spark_jobs.overview.reading import Due


def due(pipelines: Sequence[str]) -> dict[str, Due]:
    """Pipeline -> its DAG's next run. One whose DAG Airflow does not know is not among them."""
    of_dags = {ids.drains(name): name for name in pipelines}
    known = select(DagModel.dag_id, DagModel.is_paused, DagModel.next_dagrun_create_after)
    # When it was due may be months ago: of a run that was cleared, or is one of a backfill.
    since = func.coalesce(DagRun.start_date, DagRun.queued_at, DagRun.run_after)
    working = func.min(since).filter(DagRun.state.in_(State.unfinished_dr_states))
    runs = select(DagRun.dag_id, working, _newest(DagRunState.FAILED), _newest(DagRunState.SUCCESS))
    with create_session(scoped=False) as session:
        of_runs = {
            dag_id: (active, failed if failed and not (good and good > failed) else None)
            for dag_id, active, failed, good in session.execute(
                runs.where(DagRun.dag_id.in_(of_dags)).group_by(DagRun.dag_id)
            )
        }
        rows = session.execute(known.where(DagModel.dag_id.in_(of_dags)))
        return {
            of_dags[dag_id]: Due(bool(paused), at, *of_runs.get(dag_id, ()))
            for dag_id, paused, at in rows
        }


def _newest(state: DagRunState) -> Any:  # Any: SQLAlchemy's type of a maximum
    return func.max(DagRun.end_date).filter(DagRun.state == state)
