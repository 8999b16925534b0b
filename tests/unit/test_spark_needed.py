"""Which commands need Spark's environment: they say what is wrong with it before they ask anybody."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.installation import MADE, REPO
from tests.harness.airflow_versions import HERE

SPARK = re.compile(r"(pyspark|py4j|delta|delta_spark|great_expectations)(-|$)")
NAME = "departure_delays"
NEED = {
    "archive": ["flights"],
    "backfill": [NAME, "--from", "2026-01-01", "--to", "2026-01-02"],
    "drain": [NAME],
    "explain": [NAME],
    "plan": [NAME],
    "preview": [NAME],
    "rebuild": [NAME],
    "repair": [NAME],
    "repartition": [NAME],
    "replay": [NAME, "--reason", "%"],
    "run": [NAME],
    "state": [NAME],
    "test": [NAME],
    "validate": ["--deep"],
    "verify": [NAME, "--from", "2026-01-01", "--to", "2026-01-02"],
}
NEED_NONE = {
    "accept", "catalog", "coverage", "doctor", "install", "maintain", "new", "publish",
    "quarantine", "report", "reset", "rewind", "schema", "show", "undo", "worker",
}  # fmt: skip
ALL = f"""
import importlib.util, json, typer
from typer.testing import CliRunner
from spark_jobs.cli import app
assert importlib.util.find_spec("pyspark") is None
print(json.dumps([*typer.main.get_command(app).commands]))
for name, words in {NEED!r}.items():
    done = CliRunner().invoke(app, [name, *words])
    raw = "" if isinstance(done.exception, SystemExit) else repr(done.exception)
    print(json.dumps([name, done.exit_code, raw, done.output]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What a wheel brings beside an Airflow: this environment's packages, without Spark's."""
    folder = tmp_path_factory.mktemp("site")
    for entry in HERE.iterdir():
        if not SPARK.match(entry.name):
            (folder / entry.name).symlink_to(entry)
    return folder


def wrong(folder: Path, left: str) -> tuple[str, str]:
    """A value of SLUICE_SPARK_ENV, and what of it the error says."""
    if left == "not set":
        return "", "has no pyspark"
    if left == "nobody made it":
        return str(folder / "nowhere"), "has not made it"
    if left == "from folder to folder":
        return "sluice", "another folder in each working folder"
    (folder / "lib/python3.11/site-packages/spark_jobs").mkdir(parents=True)
    (folder / MADE).write_text(json.dumps({"code": "0.0.9+1"}))
    return str(folder), "0.0.9+1"


@pytest.mark.parametrize(
    "left", ["not set", "nobody made it", "from folder to folder", "of another version"]
)
def test_each_command_that_needs_spark_says_first_what_is_wrong_with_its_environment(
    tmp_path, site, left
):
    value, says = wrong(tmp_path, left)
    path = os.pathsep.join(map(str, (REPO, REPO / "plugins", site)))
    variables = {
        "PATH": os.environ["PATH"], "PYTHONPATH": path, "SLUICE_SPARK_ENV": value,
        "SLUICE_ROOT": str(tmp_path / "root"), "SLUICE_KAFKA": "127.0.0.1:1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-S", "-c", ALL],
        cwd=tmp_path, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    commands, *ended = map(json.loads, done.stdout.splitlines())
    assert {*commands} == NEED.keys() | NEED_NONE
    for name, status, raw, output in ended:
        assert (status, raw) == (SettingInvalid.exit_status, ""), (name, output)
        assert output.startswith("SETTING_INVALID"), (name, output)
        assert says in output, name
    assert not (tmp_path / "root").exists()
