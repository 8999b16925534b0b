"""Who may see what: asked of Airflow's auth manager in each request.

A pipeline that a person may not see and one that does not exist are answered alike.
"""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.batch_apis import IsAuthorizedDagRequest
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, status

from sluice_airflow import ids
from spark_jobs.ops.record_shown import Withheld
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import record_bytes

Person = Annotated[BaseUser, Depends(get_user)]


def readable(user: Person) -> list[str]:
    """The pipelines whose DAG, and its runs, the person may read; sorted."""
    of_dags = {ids.drains(name): name for name in registry.names()}
    teams = DagModel.get_dag_id_to_team_name_mapping([*of_dags])
    return [
        name
        for dag_id, name in of_dags.items()
        if _granted(user, DagDetails(id=dag_id, team_name=teams.get(dag_id)))
    ]


def _granted(user: BaseUser, dag: DagDetails) -> bool:
    """Both are asked: not every auth manager takes the right to a DAG's runs for one to the DAG."""
    wanted: list[IsAuthorizedDagRequest] = [
        {"method": "GET", "details": dag},
        {"method": "GET", "details": dag, "access_entity": DagAccessEntity.RUN},
    ]
    return get_auth_manager().batch_is_authorized_dag(wanted, user=user)


Readable = Annotated[list[str], Depends(readable)]


def not_found() -> HTTPException:
    """The answer to all that is not there, or not there for this person."""
    return HTTPException(status.HTTP_404_NOT_FOUND, "there is nothing here that you may see")


def permitted(pipeline: str, names: Readable) -> str:
    """The pipeline in the path, if the person may read it. Raises HTTPException: 404."""
    if pipeline not in names:
        raise not_found()
    return pipeline


Permitted = Annotated[str, Depends(permitted)]


def bytes_withheld(pipeline: Permitted, user: Person) -> Withheld | None:
    """Why the person may not see bytes of the pipeline's records; None if they may.

    The right is to edit the DAG (`PUT`): every auth manager has it, for each DAG, and readers lack
    it. A custom view would be a right of its own, but Airflow's simple auth manager gives those to
    every viewer.
    """
    if not record_bytes():
        return "setting"
    dag_id = ids.drains(pipeline)
    team = DagModel.get_dag_id_to_team_name_mapping([dag_id]).get(dag_id)
    dag = DagDetails(id=dag_id, team_name=team)
    granted = get_auth_manager().is_authorized_dag(method="PUT", details=dag, user=user)
    return None if granted else "right"


def may_trigger(pipeline: Permitted, user: Person) -> bool:
    """Whether the person may trigger the pipeline's backfill DAG. Airflow's API asks again."""
    dag_id = ids.backfills(pipeline)
    team = DagModel.get_dag_id_to_team_name_mapping([dag_id]).get(dag_id)
    granted: bool = get_auth_manager().is_authorized_dag(
        method="POST",
        access_entity=DagAccessEntity.RUN,
        details=DagDetails(id=dag_id, team_name=team),
        user=user,
    )
    return granted


MayTrigger = Annotated[bool, Depends(may_trigger)]
BytesWithheld = Annotated[Withheld | None, Depends(bytes_withheld)]


def _of_dag(dag_id: str, names: Readable) -> str:
    return permitted(ids.pipeline_of(dag_id), names)


PermittedOfDag = Annotated[str, Depends(_of_dag)]


def _withheld_of_dag(pipeline: PermittedOfDag, user: Person) -> Withheld | None:
    return bytes_withheld(pipeline, user)


WithheldOfDag = Annotated[Withheld | None, Depends(_withheld_of_dag)]
