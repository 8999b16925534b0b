"""An Airflow of the tests' own: a home in a temporary folder, settled before anything imports airflow."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
HOME = tempfile.mkdtemp(prefix="sluice-airflow-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)

for _name in [name for name in os.environ if name.startswith(("AIRFLOW_", "_AIRFLOW"))]:
    del os.environ[_name]
os.environ |= {
    "AIRFLOW_HOME": HOME,
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(REPO / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPO / "plugins"),
}


def pytest_configure(config: pytest.Config) -> None:
    # Airflow's own, and not ours to mend.
    config.addinivalue_line("filterwarnings", "ignore:GitWildMatchPattern:DeprecationWarning")


@pytest.fixture
def in_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test call an operator's execute, as Airflow's task runner does."""
    from airflow.sdk.bases.operator import ExecutorSafeguard  # noqa: PLC0415 - the home comes first

    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)
