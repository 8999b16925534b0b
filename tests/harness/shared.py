"""Shared: the folder of the servers that all lanes use. The first process over the lanes makes it,
and stops what runs there at its end.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "SLUICE_TESTS_SHARED"
KAFKA, REGISTRY = "kafka", "registry"


def home(server: str) -> Path:
    """Where a server of this run lives. To start one that runs there is to find it."""
    return Path(os.environ[VARIABLE]) / server


def pids() -> list[int]:
    """The processes of the servers that run."""
    from local import jvm  # noqa: PLC0415 - a second, in each lane of a suite of a test's own

    found = (jvm.process(home(server)) for server in (KAFKA, REGISTRY))
    return [process.pid for process in found if process]


class Shared:
    """The plugin of the process that made the folder. Lanes and tests of tests inherit it."""

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Behind the lanes' last test."""
        from local import broker, registry  # noqa: PLC0415 - as above

        broker.stop(home(KAFKA))
        registry.stop(home(REGISTRY))
        shutil.rmtree(os.environ.pop(VARIABLE))


def register(config: pytest.Config) -> None:
    """Make the folder, unless a process above this one has."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="sluice-tests-")
        config.pluginmanager.register(Shared())
