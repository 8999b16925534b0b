"""All: each pipeline's folder becomes three DAGs, which drain, which compute ranges, or all, again,
and which take a person's decision; each archive of a topic has one too. One more maintains the
tables, and one proves their days. It names no pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import DAG

from sluice_airflow.dags.accept import accept_dag
from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.dags.dag import TAG, build
from sluice_airflow.dags.maintain import maintain_dag
from sluice_airflow.dags.own import Own
from sluice_airflow.dags.prove import prove_dag
from sluice_airflow.dags.refused import refused_dag
from sluice_airflow.entered import enter_project
from spark_jobs.errors import PipelineUnknown
from spark_jobs.registry import find as registry


def dags(
    *,
    tags: Sequence[str] = (),
    default_args: Mapping[str, Any] | None = None,
    of: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, DAG]:
    """Name in the DAG file -> DAG.

    `default_args` has arguments of every task by Airflow's names: owner, pool, queue,
    priority_weight, executor_config and the like. `of` has more of them for single pipelines:
    `{"orders": {"queue": "large"}}`. `tags` are on every DAG. SLUICE_DAG_PREFIX begins their ids.
    """
    enter_project()
    given = dict(of or {})

    def own(name: str) -> Own:
        return Own(tags, {**(default_args or {}), **given.get(name, {})})

    known = [*registry.names(), *registry.archives()]
    if unknown := sorted(given.keys() - set(known)):
        raise PipelineUnknown.of_dags(name=unknown[0], known=", ".join(known))
    made = [maintain_dag(TAG, own("")), prove_dag(TAG, own(""))]
    made += [dag for name in registry.names() for dag in _of_pipeline(name, own(name))]
    made += [_of_archive(name, own(name)) for name in registry.archives()]
    return {f"dag_of_{dag.dag_id}": dag for dag in made}


def _of_pipeline(pipeline: str, own: Own) -> list[DAG]:
    try:
        spec = registry.load(pipeline)
        return [build(spec, own), build_backfill(spec, own), accept_dag(pipeline, own)]
    except Exception as error:  # noqa: BLE001 - an invalid spec must not remove the other pipelines' DAGs
        return [_refused(pipeline, error, own)]


def _of_archive(name: str, own: Own) -> DAG:
    try:
        return build(registry.load(name), own)
    except Exception as error:  # noqa: BLE001 - as above
        return _refused(name, error, own)


def _refused(pipeline: str, error: Exception, own: Own) -> DAG:
    try:
        return refused_dag(pipeline, error, own)
    except Exception:  # noqa: BLE001 - as above
        return refused_dag(pipeline, error, Own(own.tags))
