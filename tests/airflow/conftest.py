"""An Airflow of the tests' own, in a temporary home that is settled before airflow is imported."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).parents[2]
HOME = tempfile.mkdtemp(prefix="sluice-airflow-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
VARIABLES = {
    "AIRFLOW_HOME": HOME,
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(REPO / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPO / "plugins"),
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    "AIRFLOW__API_AUTH__JWT_SECRET": "of the tests alone, " * 4,
}


@contextmanager
def nothing_of_another_airflow() -> Iterator[None]:
    """These variables within the block, none of the user's; after it all is as before."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AIRFLOW_", "_AIRFLOW"))]:
            patch.delenv(name)
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        yield


def pytest_configure(config: pytest.Config):
    # Airflow's own, and not ours to mend.
    config.addinivalue_line("filterwarnings", "ignore:GitWildMatchPattern:DeprecationWarning")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of this folder's modules alone: pytest asks a conftest about what is below it."""
    with nothing_of_another_airflow():
        return (yield)


@pytest.fixture(scope="module", autouse=True)
def its_own_airflow() -> Iterator[None]:
    with nothing_of_another_airflow():
        yield


@pytest.fixture(scope="module")
def api(its_own_airflow) -> Iterator[Any]:
    """Airflow's REST API and UI."""
    from tests.airflow.metadata import rest_api  # noqa: PLC0415 - the home comes first

    with rest_api() as client:
        yield client


@pytest.fixture
def in_task(monkeypatch):
    """Let a test call an operator's execute, as Airflow's task runner does."""
    from airflow.sdk.bases.operator import ExecutorSafeguard  # noqa: PLC0415 - the home comes first

    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)


@pytest.fixture
def submitted(in_task, monkeypatch, tmp_path) -> Callable[..., None]:
    """Run a drain's task with a spark-submit of these lines of shell, and with empty jars."""

    def submit(*lines: str, jars: tuple[str, ...] = ("spark/delta-spark_0.jar",)):
        from sluice_airflow.tasks.operators import DrainOperator  # noqa: PLC0415 - the home comes first
        from spark_jobs.errors import ReportMissing  # noqa: PLC0415
        from tests.airflow.installed import Installed, executed  # noqa: PLC0415

        Installed(tmp_path, monkeypatch, None, None, jars).spark_does(*lines)
        with pytest.raises(ReportMissing):
            executed(DrainOperator(task_id="drain", pipeline="flight_events"))

    return submit
