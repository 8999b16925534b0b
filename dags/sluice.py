"""The one DAG file for Airflow: each folder under spark_jobs/pipelines becomes a DAG. Nothing here names a pipeline."""

from airflow.sdk import DAG

from sluice_airflow.dag import build
from sluice_airflow.refused import stand_in
from spark_jobs.contract import registry


def dag_of(pipeline: str) -> DAG:
    """The pipeline's DAG, or, where its spec was refused, one that says so."""
    try:
        return build(registry.load(pipeline))
    except Exception as error:  # noqa: BLE001 - whatever a spec does wrong must not take the other pipelines away
        return stand_in(pipeline, error)


globals().update({f"dag_of_{name}": dag_of(name) for name in registry.names()})
