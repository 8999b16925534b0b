"""Spark's side: the environment whose Python, spark-submit and packages a run starts with. It is
that of SLUICE_SPARK_ENV, which `sluice install` makes; without it, this process's own.

So Airflow's environment takes one light wheel and keeps its packages. Imports no pyspark.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import spark_jobs
from spark_jobs.errors import SettingInvalid
from spark_jobs.fingerprint.packages import code_version
from spark_jobs.pinned.python import OWN as PYTHON
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import MADE, REPO


class SparkSide(NamedTuple):
    """Where a run's processes come from."""

    python: Path
    package: Path
    """The folder spark_jobs."""
    search: str
    """The folders that go before those of PYTHONPATH, as it has them."""
    home: Path | None = None
    """The pyspark of another environment."""

    @property
    def submit(self) -> Path:
        return self.python.parent / "spark-submit"

    @property
    def application(self) -> Path:
        return self.package / "main.py"


def spark_side(spark_env: str) -> SparkSide:
    """That of SLUICE_SPARK_ENV; empty for this process's own. Raises SettingInvalid where it is not
    whole, or of another version.
    """
    named = Path(spark_env)
    # It imports the pipelines from where this process does: neither a DAGs folder nor the working
    # folder is on PYTHONPATH.
    pipelines = registry.own_path()
    if pipelines is not None and pipelines != REPO:
        _refuse_hiding(pipelines)
    if not spark_env or named.resolve() == Path(sys.prefix).resolve():
        both = dict.fromkeys(map(str, filter(None, (REPO, pipelines))))
        here = Path(spark_jobs.__file__).parent
        return SparkSide(PYTHON, here, os.pathsep.join(both))
    if not named.is_absolute():
        raise SettingInvalid.spark_env_relative(folder=named)
    made, site = _made(named)
    if made != code_version():
        raise SettingInvalid.spark_env_version(folder=named, there=made, here=code_version())
    search = "" if pipelines is None else os.fspath(pipelines)
    return SparkSide(named / "bin" / "python", site / "spark_jobs", search, site / "pyspark")


def _refuse_hiding(folder: Path) -> None:
    """What is on PYTHONPATH comes before Python's own modules."""
    files = [*folder.glob("*.py"), *(each.parent for each in folder.glob("*/__init__.py"))]
    hidden = {path.stem for path in files}
    if names := sorted(hidden & sys.stdlib_module_names):
        raise SettingInvalid.modules_hidden(folder=folder, name=names[0])


def _made(named: Path) -> tuple[str, Path]:
    """The version of Sluice in the environment, and where its packages are."""
    try:
        made = str(json.loads((named / MADE).read_text())["code"])
        [package] = named.glob("lib/python3*/site-packages/spark_jobs")
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingInvalid.spark_env_unmade(folder=named) from None
    return made, package.parent
