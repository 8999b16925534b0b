"""What the plugin gives Airflow: the app of the views, made at its first request, and the places
in the UI that lead to it.

Every process of Airflow imports the plugin, for the timetable in it. So this module imports nothing
that only the api-server needs, and an error in the views takes no DAG along.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any

from sluice_airflow.web.prefix import PREFIX

Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class Mounted:
    """The app, for Airflow to mount."""

    def __init__(self) -> None:
        self._app: Asgi | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from sluice_airflow.web.app import create_app  # noqa: PLC0415 - FastAPI and Delta, at the first request

            self._app = create_app()
            # What the server has imported stays until it ends. If the collector looks at it again
            # and again while 5,000 batches are read, it takes more than half of the time.
            gc.freeze()
        await self._app(scope, receive, send)


APPS: list[dict[str, Any]] = [{"name": "Sluice", "app": Mounted(), "url_prefix": PREFIX}]
# Relative: the UI resolves them against its <base>, which has the path of [api] base_url.
VIEWS: list[dict[str, Any]] = [
    {
        "name": "Sluice",
        "href": "sluice/",
        "destination": "nav",
        "nav_top_level": True,
        "url_route": "sluice",
    },
    {
        "name": "Sluice",
        "href": "sluice/dags/{DAG_ID}",
        "destination": "dag",
        "url_route": "sluice-dag",
    },
    {
        "name": "Sluice",
        "href": "sluice/dags/{DAG_ID}/runs/{RUN_ID}",
        "destination": "dag_run",
        "url_route": "sluice-run",
    },
]
