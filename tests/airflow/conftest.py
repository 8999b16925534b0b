"""An Airflow of the tests' own, in a temporary home that is settled before airflow is imported."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

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

        script = tmp_path / "bin" / "spark-submit"
        for path in (script, *(tmp_path / "jars" / name for name in jars)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        script.write_text("\n".join(("#!/bin/sh", *lines)))
        script.chmod(0o700)
        monkeypatch.setattr("sys.executable", str(script.parent / "python"))
        monkeypatch.setenv("SLUICE_JARS", str(tmp_path / "jars" / "spark"))
        monkeypatch.setenv(
            "AIRFLOW_CONN_SLUICE_SPARK", '{"conn_type": "spark", "host": "local[2]"}'
        )
        operator = DrainOperator(task_id="drain", pipeline="flight_events")
        ti = SimpleNamespace(
            try_number=1, map_index=-1, stats_tags={}, xcom_pull=lambda **_: None,
            xcom_push=lambda **_: None,
        )  # fmt: skip
        with pytest.raises(ReportMissing):
            operator.execute({"ti": ti, "task": operator, "run_id": "manual__1"})
        operator.submission.hook._submit_sp.stdout.close()  # noqa: SLF001 - the provider leaves it open

    return submit
