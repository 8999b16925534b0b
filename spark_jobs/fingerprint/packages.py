"""Packages: their versions in the environment in which runs start. Airflow's may be another."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, distributions

from spark_jobs.settings.installation import spark_env


def version(package: str) -> str:
    """Raises PackageNotFoundError."""
    named = bool(os.environ.get("SLUICE_SPARK_ENV"))
    places = list(map(str, spark_env().glob("lib/python3*/site-packages"))) if named else sys.path
    for found in distributions(name=package, path=places):
        return found.version
    raise PackageNotFoundError(package)
