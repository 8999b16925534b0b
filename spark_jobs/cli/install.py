"""The command that makes the environment of Spark's side; and `sluice --version`, which says its
parts.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

import spark_jobs
from spark_jobs.cli.terminal import examples, one_line_errors, say

commands = typer.Typer(rich_markup_mode="rich")


@commands.command(
    rich_help_panel="Install",
    epilog=examples(
        "sluice install /opt/sluice",
        "export SLUICE_SPARK_ENV=/opt/sluice  # runs start there from now on",
    ),
)
def install(
    folder: Annotated[Path, typer.Argument(help="A new folder, or one that it has made.")],
    python: Annotated[
        str | None,
        typer.Option(help="The Python of the environment: 3.11 to 3.13. Default: this one."),
    ] = None,
) -> None:
    """Make the environment in which runs start: Spark, Delta, Great Expectations, jars, all locked.

    Airflow's environment keeps its packages. Needs pip's index, Maven's repository and Java 17;
    takes some minutes. An environment of another version is made anew: let no run work meanwhile.
    """
    from spark_jobs.install.environment import install as make  # noqa: PLC0415 - no other command needs it

    with one_line_errors():
        new = make(folder, python, say)
        place = folder.resolve()
        say(f"{'made' if new else 'there already:'} {place}: export SLUICE_SPARK_ENV={place}")


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
