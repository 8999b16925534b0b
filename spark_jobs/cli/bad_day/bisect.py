"""The command that tells since when a table is wrong."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    installation,
    one_line_errors,
    require_readable,
    say,
    takes_next,
    with_spark,
)
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_of

if TYPE_CHECKING:
    from spark_jobs.since.tell import Answer
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")
SHOWN = 50
"""Records of one line."""


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
    records: Annotated[
        bool,
        typer.Option(
            "--records", help="Find the records of the rows, too. It reads the topic, by Spark."
        ),
    ] = False,
    output: Annotated[
        Literal["table", "json"],
        typer.Option("--format", help="table is for people; json has one object."),
    ] = "table",
) -> None:
    """Tell since when a table is wrong: the commit, and the run, batch or repair that made it.

    Write what is wrong, not what should be. The condition must be true now: the command asks the
    versions that are kept, by halves, and writes nothing. A condition that came and went is told
    with each change that it met. Versions whose files VACUUM has removed are named, not guessed.

    Without Spark, but for --records. Each version that is asked is one read of the table.
    """
    from spark_jobs.since.condition import Condition  # noqa: PLC0415 - Delta, which the help does not need
    from spark_jobs.since.tell import lines, told  # noqa: PLC0415 - as above
    from spark_jobs.where.ask import Failed  # noqa: PLC0415 - as above

    with with_spark() if records else one_line_errors():
        require_readable(root := root_of(spec := registry.load(pipeline)))
        spec = live_spec(spec, root)
        asked, said = Condition(condition, key), _said if output == "table" else _no
        answer = told(spec, root, asked, right, wrong, said)
        try:
            places, why = _records(spec, answer) if records else ([], "")
        except Failed as failed:
            if not failed.why:
                raise typer.Exit(failed.status) from None
            places, why = [], failed.why
    if output == "json":
        typer.echo(json.dumps(_plain(answer) | {"records": places, "untold": why}, default=str))
        return
    for line in lines(answer):
        say(line)
    if places:
        more = f"  # and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
        say(f"records of these rows, and their copies: {len(places):,}")
        say(f"  sluice where {pipeline} {','.join(places[:SHOWN])}{more}")
    if why:
        say(f"records that cannot be told: {why}")


def _records(spec: Pipeline, answer: Answer) -> tuple[list[str], str]:
    """The places of the rows' records, and what cannot be told of them."""
    from spark_jobs.since.records import records  # noqa: PLC0415 - as above
    from spark_jobs.where.ask import ask  # noqa: PLC0415 - as above

    if answer.batch is None:
        return [], "no batch whose account is kept made the newest change alone"
    settings = installation(spec)
    asking = partial(ask, spec.name, settings)
    found, why = records(spec, settings, asking, answer.batch, answer.brought)
    return [place.text(spec.inputs.shown) for place in found], why


def _said(version: int, rows: int) -> None:
    typer.echo(f"version {version}: {'wrong' if rows else 'right'}", err=True)


def _no(_version: int, _rows: int) -> None:
    pass


def _plain(answer: Answer) -> dict[str, Any]:
    from spark_jobs.since.tell import seen  # noqa: PLC0415 - as above

    changes = [
        each._asdict() | {"causes": [{"version": n} | cause._asdict() for n, cause in each.causes]}
        for each in answer.changes
    ]
    brought = [seen(row) for row in answer.brought]
    told = answer._asdict() | {"changes": changes, "brought": brought}
    del told["batch"]
    return told
