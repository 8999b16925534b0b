"""The only DAG file: each pipeline's folder becomes a DAG; one more takes a person's decisions, and
one maintains the tables. It names no pipeline.
"""

from airflow.sdk import DAG

from sluice_airflow.accept import accept_dag
from sluice_airflow.dag import TAG, build
from sluice_airflow.maintain import maintain_dag
from sluice_airflow.refused import refused_dag
from spark_jobs.contract import registry


def dag_of(pipeline: str) -> DAG:
    """The pipeline's DAG; for an invalid spec, a DAG that fails with the reason."""
    try:
        return build(registry.load(pipeline))
    except Exception as error:  # noqa: BLE001 - an invalid spec must not remove the other pipelines' DAGs
        return refused_dag(pipeline, error)


sluice_accept = accept_dag(TAG)
sluice_maintain = maintain_dag(TAG)
globals().update({f"dag_of_{name}": dag_of(name) for name in registry.names()})
