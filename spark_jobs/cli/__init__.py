"""`sluice`: the command line. One file for each group of commands: run.py, look.py, admin.py. It
calls the same functions as Airflow's tasks; a command that needs Spark is also one of main.py.

May import: admin, census, checkpoint, contracts, decode, draft, errors, excise, install, launch,
messages, ops, pages, proof, prove, registry, repair, runs, settings, side, since, source, spec,
storage, table, tune, values, where. Imported by: no room.
Never here: what a command does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from spark_jobs.cli.install import enter_project, print_versions
from spark_jobs.cli.terminal import examples

COMMANDS = {
    "sample": ("new", "preview"),
    "specs": ("validate", "schema"),
    "run": ("test", "plan", "drain", "archive", "explain", "worker"),
    "publish": ("publish", "catalog", "run"),
    "look": ("state", "show"),
    "find": ("find", "where"),
    "coverage": ("coverage", "prove"),
    "report": ("report",),
    "repair": ("repair", "backfill", "verify", "replay", "undo"),
    "bad_day": ("bisect", "tune", "excise"),
    "rebuild": ("rebuild",),
    "admin": ("reset", "rewind", "repartition", "doctor", "accept", "quarantine", "maintain"),
    "install": ("init", "settings", "install"),
}
"""Module -> its commands, in the order of `sluice --help`."""


class OnDemand(Mapping[str, TyperCommand]):
    """Name -> command. Imports the command's module when it is asked for: a `sluice plan` with
    nothing new is nearly all imports.
    """

    def __init__(self) -> None:
        self._modules = {name: module for module, names in COMMANDS.items() for name in names}

    def __getitem__(self, name: str) -> TyperCommand:
        module = import_module(f"{__name__}.{self._modules[name]}")
        command = typer.main.get_group(module.commands).commands[name]
        assert isinstance(command, TyperCommand)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class Commands(TyperGroup):
    """Typer's group of `sluice`, whose commands are found by name."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = OnDemand()  # type: ignore[assignment] # read-only


app = typer.Typer(
    cls=Commands,
    help="Run Spark Structured Streaming jobs on a schedule: read Kafka, update state, write "
    "Delta, account for every record.",
    epilog=examples(
        "sluice validate",
        "sluice plan flight_events",
        "sluice drain flight_events",
        "sluice show runs",
        "sluice show --help  # the options and examples of one command",
        "sluice --install-completion  # the Tab key completes commands and pipelines",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_versions,
            is_eager=True,
            help="Print the versions of Sluice, PySpark, Delta and Airflow, and exit.",
        ),
    ] = False,
    environment: Annotated[
        str | None,
        typer.Option(
            "--env",
            callback=enter_project,
            help="The table of sluice.toml. Default: SLUICE_ENV, else dev.",
        ),
    ] = None,
) -> None:
    """Options before the command."""
