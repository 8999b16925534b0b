"""`sluice`: the command line. One file for each group of commands: run.py, look.py, admin.py. It
calls the same functions as Airflow's tasks; a command that needs Spark is also one of main.py.

May import: admin, census, checkpoint, contracts, decode, draft, errors, excise, install, launch,
messages, ops, pages, proof, prove, registry, repair, runs, settings, side, since, source, spec,
state, storage, table, tune, values, where. Imported by: no room.
Never here: what a command does.
"""

from __future__ import annotations

from typing import Annotated

import typer

from spark_jobs.cli import (
    admin,
    bad_day,
    coverage,
    excise,
    find,
    install,
    look,
    publish,
    rebuild,
    repair,
    report,
    run,
    sample,
    specs,
)
from spark_jobs.cli.install import enter_project, print_versions
from spark_jobs.cli.terminal import examples

app = typer.Typer(
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
for group in (
    sample,
    specs,
    run,
    publish,
    look,
    find,
    bad_day,
    coverage,
    report,
    repair,
    excise,
    rebuild,
    admin,
    install,
):
    app.add_typer(group.commands)


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
