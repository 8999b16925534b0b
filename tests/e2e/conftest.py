"""A broker of its own for each end-to-end module: processes there use the shipped specs, and so the topic `flights`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local import broker
from spark_jobs.contract.settings import REPO


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory, monkeypatch_module: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a real broker, also in SLUICE_KAFKA."""
    home = tmp_path_factory.mktemp("kafka")
    address = broker.start(home, REPO / "jars" / "kafka")
    monkeypatch_module.setenv("SLUICE_KAFKA", address)
    yield address
    broker.stop(home)


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    """Environment changes that last for a module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch
