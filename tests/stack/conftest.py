"""One stack for the folder, made and started once; where it cannot run, one line says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.stack import NOT_RUN, Stack, running, there


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    if not there():
        pytest.skip(NOT_RUN)
    with running(tmp_path_factory.mktemp("stack")) as started:
        yield started
