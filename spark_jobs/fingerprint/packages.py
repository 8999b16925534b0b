"""Packages: their versions in the environment in which runs start. Airflow's may be another."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.metadata import PackageNotFoundError, distributions
from pathlib import Path

import spark_jobs
from spark_jobs.settings.installation import spark_env


def code_version() -> str:
    """Of Sluice: its version, and a digest of its files' names and sizes: two wheels of one version
    may have other code.
    """
    folder = Path(spark_jobs.__file__).parent
    files = sorted(
        f"{path.relative_to(folder)} {path.stat().st_size}"
        for path in folder.rglob("*.py")
        if "brought" not in path.parts
    )
    digest = hashlib.sha256("\n".join(files).encode()).hexdigest()[:12]
    return f"{spark_jobs.__version__}+{digest}"


def version(package: str) -> str:
    """Raises PackageNotFoundError."""
    named = bool(os.environ.get("SLUICE_SPARK_ENV"))
    places = list(map(str, spark_env().glob("lib/python3*/site-packages"))) if named else sys.path
    for found in distributions(name=package, path=places):
        return found.version
    raise PackageNotFoundError(package)
