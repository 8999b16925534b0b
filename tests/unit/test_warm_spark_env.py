"""A worker whose environment is that of SLUICE_SPARK_ENV: what ends it is a change there, whoever
asks.
"""

import json
import sys

import pytest

from spark_jobs.launch.warm.fingerprint import changed, taken
from spark_jobs.settings.installation import MADE, Settings
from tests.unit.test_spark_side import environment

SITE = "lib/python3.11/site-packages"


@pytest.fixture
def made(tmp_path):
    made = environment(tmp_path / "sluice")
    for name in ("bin/python", "pyvenv.cfg", f"{SITE}/pyspark/python/lib/pyspark.zip"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).touch()
    return made


@pytest.fixture
def settings(made, tmp_path):
    return Settings("/root", "a:1", tmp_path / "jars", "local[2]", "3g", spark_env=str(made))


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("bin/python", "Python"),
        ("pyvenv.cfg", "Python"),
        (f"{SITE}/pandas-3.dist-info", "installed packages"),
        (f"{SITE}/spark_jobs/main.py", "code of spark_jobs"),
        (f"{SITE}/pyspark/python/lib/pyspark.zip", "Spark's Python"),
    ],
)
def test_what_changes_there_is_seen(settings, made, file, part):
    before = taken(settings, [], {})
    (made / file).write_text("another")
    assert changed(before, taken(settings, [], {})) == [part]


def test_an_environment_that_was_made_again_is_seen(settings, made):
    before = taken(settings, [], {})
    note = json.loads((made / MADE).read_text())
    (made / MADE).write_text(json.dumps(note | {"python": "python3.12"}))
    assert changed(before, taken(settings, [], {})) == ["Spark's environment"]


def test_airflows_environment_and_a_terminals_tell_the_same(settings, monkeypatch, tmp_path):
    before = taken(settings, [], {})
    monkeypatch.setattr(sys, "executable", "/opt/airflow/bin/python")
    (tmp_path / "airflow" / "site-packages" / "airflow-3.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "airflow" / "site-packages")
    assert changed(before, taken(settings, [], {})) == []
