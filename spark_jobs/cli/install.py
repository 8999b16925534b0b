"""Commands that make an installation, a project and Spark's environment, and say what it is: its
settings, the versions of its parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

import spark_jobs
from spark_jobs.cli.formats import Format, as_csv, as_json, as_table
from spark_jobs.cli.terminal import examples, one_line_errors, say, terminal_width
from spark_jobs.errors import SluiceError
from spark_jobs.ops.views import Rows
from spark_jobs.settings import project_file as project
from spark_jobs.settings.installation import Settings, jars
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.settings.variables import VARIABLES

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Install"
HIDDEN = "hidden"


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice init shop --kafka kafka-1.example:9092",
        "cd shop && sluice new orders  # from now on no variable is needed",
    ),
)
def init(
    folder: Annotated[Path, typer.Argument(help="The project's folder.")] = Path(),
    kafka: Annotated[
        str | None, typer.Option(help="The brokers. Default: SLUICE_KAFKA, else 127.0.0.1:9092.")
    ] = None,
) -> None:
    """Write a project: sluice.toml with its settings, a DAG file, a test, a README, .gitignore.

    Every command below the folder reads sluice.toml. Overwrites nothing.
    """
    from spark_jobs.draft.new_project import BROKERS, write  # noqa: PLC0415 - no other command needs it

    with one_line_errors():
        brokers = kafka or os.environ.get("SLUICE_KAFKA") or BROKERS
        for path in write(folder.resolve(), brokers):
            say(f"wrote {os.path.relpath(path)}")
    if folder.resolve() != Path.cwd():
        say(f"  cd {folder}")
    say("  sluice new TOPIC")


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples("sluice settings", "sluice --env prod settings --format json"),
)
def settings(
    form: Annotated[Format, typer.Option("--format", help="How rows are printed.")] = Format.table,
) -> None:
    """Show each setting, its value and where that comes from: a variable, sluice.toml, a default.

    Exit status 12 where a value is wrong. Secrets are not shown.
    """
    rows = Rows(("setting", "value", "from"), tuple(_rows()))
    if form is not Format.table:
        for line in (as_json if form is Format.json else as_csv)(rows):
            typer.echo(line)
    else:
        for line in as_table(rows, terminal_width(), datetime.now(UTC), chosen=True).lines:
            say(line.rstrip())
    with one_line_errors():
        Settings.from_environment(root=None, reads=False)


def enter_project(ctx: typer.Context, environment: str | None) -> str | None:
    """The callback of `--env`, also without one: the command works in the project that it is in."""
    if not ctx.resilient_parsing:
        with one_line_errors():
            if not project.enter(environment=environment or "") and environment:
                absent = f"neither {Path.cwd()} nor a folder above has {project.FILE}"
                raise typer.BadParameter(absent)
        ctx.call_on_close(project.leave)
    return environment


def _rows() -> Iterator[tuple[str, str, str]]:
    origins = project.origins()
    named = sorted(name for name in os.environ if project.NAMED.fullmatch(_key(name)))
    for name in (*VARIABLES, *named):
        value, default = os.environ.get(name, ""), VARIABLES.get(name, ("", ""))[1]
        origin = origins.get(name) or (f"variable {name}" if value else "default")
        if name == "SLUICE_JARS":
            value = str(jars())
        if name == "SLUICE_KAFKA" and (brokers := _declared()):
            value, origin = brokers, "kafka_config"
        value = value or default or ""
        origin = origin if value or default is not None else "not set"
        yield _key(name), HIDDEN if project.has_secret(value) else value, origin


def _key(variable: str) -> str:
    return variable.removeprefix("SLUICE_").lower()


def _declared() -> str:
    """The brokers of the file of SLUICE_KAFKA_CONFIG; empty without, also where it cannot be read:
    the settings refuse it.
    """
    path = os.environ.get("SLUICE_KAFKA_CONFIG")
    with suppress(SluiceError):
        return KafkaConfig.read(path).brokers if path else ""
    return ""


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice install  # in a project: where sluice.toml says",
        "sluice install /opt/sluice",
        "export SLUICE_SPARK_ENV=/opt/sluice  # runs start there from now on",
    ),
)
def install(
    folder: Annotated[
        Path | None,
        typer.Argument(help="A new folder, or one that it has made. Default: SLUICE_SPARK_ENV."),
    ] = None,
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
        named = os.environ.get("SLUICE_SPARK_ENV", "")
        if not (folder or named):
            raise typer.BadParameter("Name a folder: nothing sets SLUICE_SPARK_ENV.")
        place = (folder or Path(named)).resolve()
        new = make(place, python, say)
        then = "" if str(place) == named else f": export SLUICE_SPARK_ENV={place}"
        say(f"{'made' if new else 'there already:'} {place}{then}")


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
