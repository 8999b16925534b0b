"""Each Airflow that docs/deploy.md calls tested: the suite's contract with Airflow runs on it."""

import os
import subprocess
from importlib.metadata import version

import pytest

from spark_jobs.settings.installation import REPO
from tests.harness.airflow_versions import documented, python_of
from tests.harness.long_form import long_form

HERE = version("apache-airflow-core")
CONTRACT = (
    "test_asked_of_airflow.py",
    "test_metrics.py",
    "test_kafka_connection.py",
    "test_root_connection.py",
    "test_retries.py",
    "test_timetable.py",
    "test_dags.py",
    "test_plan_repair.py",
    "web",
)
"""Of tests/airflow: what calls Airflow, and needs no task runner in this process, whose server does
not stand other versions of its libraries.
"""


def test_this_environment_has_a_documented_airflow():
    assert HERE in documented()


@long_form
@pytest.mark.parametrize("other", [each for each in documented() if each != HERE])
def test_the_contract_with_airflow_holds_on_each_documented_version(other):
    python = python_of(other)
    path = f"{python.parent}:{os.environ['PATH']}"
    words = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    files = [f"tests/airflow/{each}" for each in CONTRACT]
    variables = {name: text for name, text in os.environ.items() if name != "SLUICE_LONG"}
    done = subprocess.run(
        [*words, *files],
        cwd=REPO,
        env=variables | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
