"""New project: the files of a project's folder, as `sluice init` writes them. Nothing is
overwritten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.project_file import FILE, has_secret

BROKERS: Final = "127.0.0.1:9092"
SPARK_ENV: Final = "~/.sluice"

_SETTINGS: Final = """\
# Settings of this project. Every command in this folder, or below it, reads them.
# A variable overrides a line: SLUICE_ROOT that of root. `sluice settings` says what holds, and why.
# No secret belongs here: kafka_config names a file of properties, which only its owner can read.
pipelines = "pipelines"
{spark_env}

# Without --env or SLUICE_ENV.
[dev]
kafka = {kafka}
root = "data/dev"

# sluice --env prod plan NAME; in Airflow SLUICE_ENV=prod
[prod]
# kafka_config = "/etc/sluice/kafka.properties"
# root = "s3://bucket/prefix"
"""
_DAGS: Final = '''\
"""Airflow's DAGs of all pipelines of this project."""

from spark_jobs.airflow import dags

globals().update(dags())
'''
_CONFTEST: Final = '''\
"""pytest runs each case of a tests.yaml, beside the tests of this project."""

pytest_plugins = ["spark_jobs.proof.pytest_plugin"]
'''
_TEST: Final = '''\
"""What holds for every pipeline."""

from spark_jobs.registry.find import load_all


def test_every_spec_loads():
    assert all(spec.about for spec in load_all())
'''
_README: Final = """\
# {name}

Pipelines from Kafka to Delta, by Sluice. Their settings are in `{file}`.

- `sluice settings`: each setting, and where it comes from
- `sluice new TOPIC`: a pipeline, drafted from the topic's newest records
- `sluice test`, or `pytest`: the cases of each `tests.yaml`, through Spark
- `sluice run NAME`: drains, checks and publishes; `sluice --env prod run NAME` in production
- Airflow: `AIRFLOW__CORE__DAGS_FOLDER` names the folder `dags`, and `SLUICE_ENV` the environment
"""
_IGNORED: Final = """\
data/
*.properties
__pycache__/
.pytest_cache/
"""


def files(name: str, kafka: str) -> Mapping[str, str]:
    """Path within the project -> text. `kafka`: the brokers of dev."""
    own = next(iter(distributions(name="pyspark")), None)  # not pyspark-client, which runs nothing
    place = os.environ.get("SLUICE_SPARK_ENV") or SPARK_ENV
    spark = f"{'# ' if own else ''}spark_env = {_quoted(place)}  # `sluice install` makes it"
    return {
        FILE: _SETTINGS.format(spark_env=spark, kafka=_quoted(kafka)),
        "pipelines/__init__.py": '"""The pipelines: one folder each."""\n',
        "dags/sluice.py": _DAGS,
        "conftest.py": _CONFTEST,
        "tests/test_pipelines.py": _TEST,
        "README.md": _README.format(name=name, file=FILE),
        ".gitignore": _IGNORED,
    }


def write(folder: Path, kafka: str) -> tuple[Path, ...]:
    """The new files, in a folder that is made if it is not there. Raises SettingInvalid where one
    of them is there, or cannot be written; then none is written.
    """
    texts = {folder / path: text for path, text in files(folder.name, kafka).items()}
    if has_secret(kafka):
        raise SettingInvalid.secret_in_project(file=folder / FILE, at="kafka")
    if there := [path for path in texts if path.exists()]:
        raise SettingInvalid.project_there(path=there[0])
    made = list[Path]()
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:  # through no link
                made.append(path)
                file.write(text)
    except OSError as error:
        for path in made:
            path.unlink()
        raise SettingInvalid.project_unwritten(folder=folder, error=error) from None
    return tuple(made)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
