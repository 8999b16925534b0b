"""The views of a root through Airflow's API server, as a user."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.runs.run_record import append_row
from spark_jobs.storage.root.store import opened
from tests.airflow.metadata import rest_api
from tests.airflow.web.written import MINE, OTHER, PAGE, Client, checkpoint_of, report_of, tables_of


@pytest.fixture(scope="session")
def root(tmp_path_factory) -> Path:
    """The ops tables of two pipelines, each with a failed drain whose texts are hostile."""
    folder = tmp_path_factory.mktemp("root")
    for name in (MINE, OTHER):
        for place in range(3):
            append_row(report_of(name, place), str(folder))
        tables_of(opened(str(folder)), name)
        checkpoint_of(folder, name)
    return folder


@pytest.fixture(scope="module")
def server(its_own_airflow, root) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "tests.airflow.one_dag.OneDag")
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "False")
        patch.setenv("SLUICE_ROOT", str(root))
        with rest_api(own_settings=True) as client:
            client.follow_redirects = False
            yield client


@pytest.fixture
def get(server) -> Callable[..., Any]:
    """Get an address as this user: a DAG's id, who may read that DAG; or nobody."""

    def as_user(
        path: str, user: str | None = MINE, *, page: bool = False, role: str = "viewer", **more: Any
    ) -> Any:
        from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415 - the home comes first
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

        headers = dict(PAGE) if page else {}
        server.cookies.clear()
        if user is not None:
            known = SimpleAuthManagerUser(username=user, role=role, teams=None)
            server.cookies.set("_token", get_auth_manager().generate_jwt(known))
        return server.get(f"/sluice{path}", headers=headers | more.pop("headers", {}), **more)

    return as_user
