"""Version: `sluice --version`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import typer

import spark_jobs

BESIDE = ("pyspark", "delta-spark", "apache-airflow")
"""Packages whose versions are printed too. Airflow and Spark may be on different machines."""


def print_versions(wanted: bool) -> None:
    """The callback of `--version`: prints one line for each package, then exits."""
    if wanted:
        for name, installed in versions().items():
            typer.echo(f"{name} {installed}")
        raise typer.Exit


def versions() -> dict[str, str]:
    """Package -> version, or "not installed".

    Reads the packages' metadata and imports none of them.
    """
    return {"sluice": spark_jobs.__version__, **{name: _installed(name) for name in BESIDE}}


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
