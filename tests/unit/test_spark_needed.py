"""Which commands need Spark's environment: they say what is wrong with it before they ask anybody."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.installation import MADE, REPO
from tests.harness.airflow_versions import HERE
from tests.harness.ran import ran

SPARK = re.compile(r"(pyspark|py4j|delta|delta_spark|great_expectations)(-|$)")
NAME = "departure_delays"
NEED = {
    "archive": ["flights"],
    "backfill": [NAME, "--from", "2026-01-01", "--to", "2026-01-02"],
    "drain": [NAME],
    "explain": [NAME],
    "plan": [NAME],
    "preview": [NAME],
    "prove": [NAME],
    "rebuild": [NAME],
    "repair": [NAME],
    "excise": ["--topic", "sales", "--where", "true", "--from", "2026-01-01", "--reason", "r"],
    "repartition": [NAME],
    "replay": [NAME, "--reason", "%"],
    "run": [NAME],
    "state": [NAME],
    "test": [NAME],
    "validate": ["--deep"],
    "where": [NAME, "0:0"],
    "verify": [NAME, "--from", "2026-01-01", "--to", "2026-01-02"],
}
NEED_NONE = {
    "accept", "bisect", "catalog", "coverage", "doctor", "find", "init", "install", "maintain", "new", "publish",
    "quarantine", "report", "reset", "rewind", "schema", "settings", "show", "tune", "undo", "worker",
}  # fmt: skip
ALL = f"""
import importlib.util, json, sys, typer
from typer.testing import CliRunner
from spark_jobs.cli import app
assert importlib.util.find_spec("pyspark") is None
print(json.dumps([*typer.main.get_command(app).commands]))
for value in sys.argv[1:]:
    for name, words in {NEED!r}.items():
        done = CliRunner().invoke(app, [name, *words], env={{"SLUICE_SPARK_ENV": value}})
        raw = "" if isinstance(done.exception, SystemExit) else repr(done.exception)
        print(json.dumps([name, done.exit_code, raw, done.output]))
"""


@pytest.fixture
def site(tmp_path):
    """What a wheel brings beside an Airflow: this environment's packages, without Spark's."""
    folder = tmp_path / "site"
    folder.mkdir()
    for entry in HERE.iterdir():
        if not SPARK.match(entry.name):
            (folder / entry.name).symlink_to(entry)
    return folder


def wrong(folder: Path) -> dict[str, str]:
    """A value of SLUICE_SPARK_ENV -> what of it the error says."""
    (folder / "lib/python3.11/site-packages/spark_jobs").mkdir(parents=True)
    (folder / MADE).write_text(json.dumps({"code": "0.0.9+1"}))
    return {
        "": "has no pyspark",
        str(folder / "nowhere"): "has not made it",
        "sluice": "another folder in each working folder",
        str(folder): "0.0.9+1",
    }


def test_each_command_that_needs_spark_says_first_what_is_wrong_with_its_environment(
    tmp_path, site
):
    said = wrong(tmp_path / "made")
    path = os.pathsep.join(map(str, (REPO, REPO / "plugins", site)))
    variables = {
        "PATH": os.environ["PATH"], "PYTHONPATH": path,
        "SLUICE_ROOT": str(tmp_path / "root"), "SLUICE_KAFKA": "127.0.0.1:1",
    }  # fmt: skip
    done = ran(sys.executable, "-S", "-c", ALL, *said, cwd=tmp_path, env=variables)
    assert done.returncode == 0, done.stderr
    commands, *ended = map(json.loads, done.stdout.splitlines())
    assert {*commands} == NEED.keys() | NEED_NONE
    assert [name for name, *_ in ended] == [*NEED] * len(said)
    words = (each for each in said.values() for _ in NEED)
    for says, (name, status, raw, output) in zip(words, ended, strict=True):
        assert (status, raw) == (SettingInvalid.exit_status, ""), (name, output)
        assert output.startswith("SETTING_INVALID"), (name, output)
        assert says in output, name
    assert not (tmp_path / "root").exists()
