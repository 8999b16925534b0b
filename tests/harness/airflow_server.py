"""An Airflow of a test's own: its API, its scheduler and its tasks, none of which is our child."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local import airflow
from tests.harness import costs


@contextmanager
def served(home: Path, variables: Mapping[str, str]) -> Iterator[airflow.Airflow]:
    """It runs within the block; what it used counts as the test's."""
    try:
        yield airflow.start(home, variables, schedule=False)
    finally:
        members = airflow._members(home.resolve())  # noqa: SLF001 - nothing else knows them
        costs.count(member.pid for member in members)
        airflow.stop(home)
