"""One stack for the folder, made and started once; where it cannot run, one line says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.costs import folder_of
from tests.harness.stack import NOT_RUN, Stack, running, there


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marked and not skipped by a fixture: pytest tells of marked ones in a line for each file."""
    mine = [item for item in items if folder_of(item) == Path(__file__).parent.name]
    if mine and not there():
        for item in mine:
            item.add_marker(pytest.mark.skip(reason=NOT_RUN))


@pytest.fixture(scope="package")
def stack(tmp_path_factory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("stack")) as started:
        yield started
