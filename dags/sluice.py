"""The only DAG file: each pipeline's folder becomes three DAGs, which drain, which compute ranges,
or all, again, and which take a person's decision; each archive of a topic has one too, and one more
maintains the tables. It names no pipeline.
"""

from airflow.sdk import DAG

from sluice_airflow.dags.accept import accept_dag
from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.dags.dag import TAG, build
from sluice_airflow.dags.maintain import maintain_dag
from sluice_airflow.dags.refused import refused_dag
from spark_jobs.registry import find as registry


def dags_of(pipeline: str) -> list[DAG]:
    """The pipeline's DAGs; for an invalid spec, one DAG that fails with the reason."""
    try:
        spec = registry.load(pipeline)
        return [build(spec), build_backfill(spec), accept_dag(pipeline)]
    except Exception as error:  # noqa: BLE001 - an invalid spec must not remove the other pipelines' DAGs
        return [refused_dag(pipeline, error)]


def archive_dag(name: str) -> DAG:
    """The DAG of a topic's archive; one that fails with the reason if it is declared wrongly."""
    try:
        return build(registry.load(name))
    except Exception as error:  # noqa: BLE001 - as above
        return refused_dag(name, error)


sluice_maintain = maintain_dag(TAG)
globals().update(
    {f"dag_of_{dag.dag_id}": dag for name in registry.names() for dag in dags_of(name)}
    | {f"dag_of_{name}": archive_dag(name) for name in registry.archives()}
)
