"""The command that tells since when a table is wrong."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    one_line_errors,
    require_readable,
    say,
    takes_next,
)
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_of

commands = typer.Typer(rich_markup_mode="rich")


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples(
        'sluice bisect departure_delays "flights < 0"  # a row that must not be there',
        'sluice bisect departure_delays "sum(flights) > 900" --key "carrier = \'UA\'"',
        'sluice bisect flight_events "count(*) > count(DISTINCT event_id)"  # copies',
        'sluice bisect departure_delays "flights < 0" --right 120  # it was right there',
    ),
)
@takes_next
def bisect(
    pipeline: PipelineName,
    condition: Annotated[
        str,
        typer.Argument(
            metavar="SQL",
            help="What is wrong, as DataFusion reads it. True of one row at least, or by "
            "aggregates of all rows together: then the version is wrong.",
        ),
    ],
    key: Annotated[
        str,
        typer.Option(metavar="SQL", help="Look at the rows alone for which this is true."),
    ] = "true",
    right: Annotated[
        int | None,
        typer.Option(help="A version that was right. Default: the oldest that is kept."),
    ] = None,
    wrong: Annotated[
        int | None, typer.Option(help="A version that is wrong. Default: the newest.")
    ] = None,
    output: Annotated[
        Literal["table", "json"],
        typer.Option("--format", help="table is for people; json has one object."),
    ] = "table",
) -> None:
    """Tell since when a table is wrong: the commit, and the run, batch or repair that made it.

    Write what is wrong, not what should be. The condition must be true now: the command asks the
    versions that are kept, by halves, and writes nothing. A condition that came and went is told
    with each change that it met. Versions whose files VACUUM has removed are named, not guessed.

    Without Spark. Each version that is asked is one read of the table.
    """
    from spark_jobs.since.condition import Condition  # noqa: PLC0415 - Delta, which the help does not need
    from spark_jobs.since.tell import lines, plain, told  # noqa: PLC0415 - as above

    with one_line_errors():
        require_readable(root := root_of(spec := registry.load(pipeline)))
        spec = live_spec(spec, root)
        asked, said = Condition(condition, key), _said if output == "table" else _no
        answer = told(spec, root, asked, right, wrong, said)
    if output == "json":
        typer.echo(json.dumps(plain(answer), default=str))
        return
    for line in lines(answer):
        say(line)


def _said(version: int, rows: int) -> None:
    typer.echo(f"version {version}: {'wrong' if rows else 'right'}", err=True)


def _no(_version: int, _rows: int) -> None:
    pass
