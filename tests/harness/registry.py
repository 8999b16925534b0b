"""The schema registry that all lanes share, and one in front of it that asks for a login."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from local import registry
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient
from tests.harness.serving import Handler, serving
from tests.harness.shared import REGISTRY, home

JARS = REPO / "jars" / "registry" / "app"


@pytest.fixture(scope="session")
def registry_url() -> str:
    """The URL of a real registry's API."""
    return registry.start(home(REGISTRY), JARS)


@contextmanager
def guarded(url: str, authorization: str, store: Path | None = None) -> Iterator[str]:
    """The registry behind a door, for who sends this header; by TLS if `store` has a key."""
    inner = urlsplit(url)

    class Door(Handler):
        def do_GET(self) -> None:
            if self.headers.get("Authorization", "") != authorization:
                self.answer(401, b'{"error_code": 401, "message": "no"}')
                return
            asked = http.client.HTTPConnection(str(inner.hostname), inner.port, timeout=patient(30))
            asked.request("GET", self.path)
            answer = asked.getresponse()
            self.answer(answer.status, answer.read())
            asked.close()

    with serving(Door, store) as server:
        yield f"http{'s' if store else ''}://127.0.0.1:{server.server_port}{inner.path}"
