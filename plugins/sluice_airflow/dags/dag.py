"""The DAG of a pipeline: its drain (drain.py), by its schedule."""

from __future__ import annotations

from airflow.sdk import DAG

from sluice_airflow import ids
from sluice_airflow.dags import text
from sluice_airflow.dags.drain import drain_tasks
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.dags.run_types import OF_DRAINS
from sluice_airflow.dags.start import start
from sluice_airflow.retries import ARGUMENTS
from sluice_airflow.telling.told import CALLBACKS
from spark_jobs.spec import Pipeline

TAG = "sluice"


def build(spec: Pipeline, own: Own = NONE) -> DAG:
    """The DAG of one pipeline.

    Raises Airflow's own errors, for example about a cron expression that never fires.
    """
    with DAG(
        dag_id=ids.drains(spec.name),
        description=spec.about,
        doc_md=text.page(spec),
        schedule=start(spec),
        start_date=spec.schedule.start,
        catchup=False,
        max_active_runs=1,
        allowed_run_types=OF_DRAINS,
        tags=[TAG, *own.tags],
        default_args={**ARGUMENTS, **CALLBACKS, **own.arguments},
        # Airflow finds the DAG as a name in dags/sluice.py. A DAG that fails the validation below
        # must not be found.
        auto_register=False,
    ) as dag:
        drain_tasks(spec)
    dag.validate()  # type: ignore[no-untyped-call]  # Airflow's own
    return dag
