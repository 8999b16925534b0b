"""Spark's side: the environment whose Python, spark-submit and packages a run starts with.
SLUICE_SPARK_ENV names it, and `sluice install` makes it; without it, this process's own.

So Airflow's environment takes one light wheel and keeps its packages. Imports no pyspark.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import spark_jobs
from spark_jobs.errors import SettingInvalid
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.packages import require_spark
from spark_jobs.settings.installation import REPO
from spark_jobs.values.pinned.python import own


class SparkSide(NamedTuple):
    """Where a run's processes come from."""

    python: Path
    package: Path
    """The folder spark_jobs."""
    search: str
    """The folders that go before PYTHONPATH's, as it has them."""
    home: Path | None = None
    """The pyspark of another environment."""

    @property
    def submit(self) -> Path:
        return self.python.parent / "spark-submit"

    @property
    def application(self) -> Path:
        return self.package / "main.py"


def spark_side(spark_env: str) -> SparkSide:
    """SLUICE_SPARK_ENV's side; empty for this process's own. Raises SettingInvalid where it is not
    whole, has no Spark, or is of another version.
    """
    site = require_spark(spark_env)
    # It imports the pipelines from where this process does: neither a DAGs folder nor the working
    # folder is on PYTHONPATH.
    pipelines = registry.own_path()
    if pipelines is not None and pipelines != REPO:
        _refuse_hiding(pipelines)
    if site is None:
        both = dict.fromkeys(map(str, filter(None, (REPO, pipelines))))
        here = Path(spark_jobs.__file__).parent
        return SparkSide(own(), here, os.pathsep.join(both))
    search = "" if pipelines is None else os.fspath(pipelines)
    return SparkSide(
        Path(spark_env) / "bin" / "python", site / "spark_jobs", search, site / "pyspark"
    )


def _refuse_hiding(folder: Path) -> None:
    """What is on PYTHONPATH comes before Python's own modules."""
    files = [*folder.glob("*.py"), *(each.parent for each in folder.glob("*/__init__.py"))]
    hidden = {path.stem for path in files}
    names = sorted(hidden & sys.stdlib_module_names)
    if (package := registry.package().partition(".")[0]) in names:
        raise SettingInvalid.package_hides(package=package)
    if names:
        raise SettingInvalid.modules_hidden(folder=folder, name=names[0])
