"""Packages: their versions in the environment in which runs start. Airflow's may be another."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path

import spark_jobs
from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.installation import MADE, spark_env as here


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
    """Raises SettingInvalid where Spark's environment has no such package, or is none."""
    site = require_spark(os.environ.get("SLUICE_SPARK_ENV", ""))
    return _found(package, sys.path if site is None else [str(site)])


def require_spark(spark_env: str) -> Path | None:
    """The folder of packages of SLUICE_SPARK_ENV; None for an empty one: runs start in this
    process's own environment. Raises SettingInvalid where no run can start there.
    """
    named = Path(spark_env)
    if not spark_env or named.resolve() == Path(sys.prefix).resolve():
        _found("pyspark", sys.path)
        return None
    if not named.is_absolute():
        raise SettingInvalid.spark_env_relative(folder=named)
    try:
        made = str(json.loads((named / MADE).read_text())["code"])
        [package] = named.glob("lib/python3*/site-packages/spark_jobs")
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingInvalid.spark_env_unmade(folder=named) from None
    if made != code_version():
        raise SettingInvalid.spark_env_version(folder=named, there=made, here=code_version())
    return package.parent


def _found(package: str, places: Sequence[str]) -> str:
    for found in distributions(name=package, path=[*places]):
        return found.version
    raise SettingInvalid.spark_absent(folder=here(), package=package)
