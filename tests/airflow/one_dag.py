"""Airflow's own auth manager; a user whose name is a DAG's id may read that DAG alone."""

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

EVERYTHING = "everything"
"""The user without that limit."""
NO_RUNS = "no runs"
"""The user who may read all DAGs, and none of their runs."""


class OneDag(SimpleAuthManager):
    """As a FAB role with "DAG:departure_delays" would be."""

    def is_authorized_dag(
        self, *, method: Any, user: Any, access_entity: Any = None, details: Any = None
    ) -> bool:
        mine = user.username == EVERYTHING or (details and details.id == user.username)
        if user.username == NO_RUNS:
            mine = access_entity is None
        return bool(mine) and super().is_authorized_dag(
            method=method, user=user, access_entity=access_entity, details=details
        )
