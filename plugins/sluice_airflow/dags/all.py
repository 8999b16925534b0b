"""All: each pipeline's folder becomes three DAGs, which drain, which compute ranges, or all, again,
and which take a person's decision; each archive of a topic has one too, and one more maintains the
tables. It names no pipeline.
"""

from __future__ import annotations

from airflow.sdk import DAG

from sluice_airflow.dags.accept import accept_dag
from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.dags.dag import TAG, build
from sluice_airflow.dags.maintain import maintain_dag
from sluice_airflow.dags.refused import refused_dag
from spark_jobs.registry import find as registry


def dags() -> dict[str, DAG]:
    """Name in the DAG file -> DAG."""
    made = [maintain_dag(TAG)]
    made += [dag for name in registry.names() for dag in _of_pipeline(name)]
    made += [_of_archive(name) for name in registry.archives()]
    return {f"dag_of_{dag.dag_id}": dag for dag in made}


def _of_pipeline(pipeline: str) -> list[DAG]:
    """Its DAGs; for an invalid spec, one DAG that fails with the reason."""
    try:
        spec = registry.load(pipeline)
        return [build(spec), build_backfill(spec), accept_dag(pipeline)]
    except Exception as error:  # noqa: BLE001 - an invalid spec must not remove the other pipelines' DAGs
        return [refused_dag(pipeline, error)]


def _of_archive(name: str) -> DAG:
    """The DAG of a topic's archive; one that fails with the reason if it is declared wrongly."""
    try:
        return build(registry.load(name))
    except Exception as error:  # noqa: BLE001 - as above
        return refused_dag(name, error)
