"""Commands for the days on which a number is wrong: since when, and what another delay costs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.formats import Format, as_csv, as_json, as_table
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    installation,
    one_line_errors,
    require_readable,
    say,
    takes_next,
    terminal_width,
)
from spark_jobs.ops.views import Rows
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.roots import root_of
from spark_jobs.spec.duration import parse_duration

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Inspect"


@commands.command(
    rich_help_panel=PANEL,
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
        said = _said if output == "table" else None
        answer = told(spec, root, Condition(condition, key), right, wrong, said)
    if output == "json":
        typer.echo(json.dumps(plain(answer), default=str))
        return
    for line in lines(answer):
        say(line)


def _said(version: int, rows: int) -> None:
    typer.echo(f"version {version}: {'wrong' if rows else 'right'}", err=True)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice tune departure_delays",
        "sluice tune departure_delays --delay '45 minutes' --days 14",
        "sluice tune departure_delays --exact  # reads records: no bounds",
    ),
)
@takes_next
def tune(
    pipeline: PipelineName,
    delay: Annotated[
        list[str] | None,
        typer.Option(metavar="DURATION", help="A delay to price. Default: nine about the present."),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            help="Look at the batches of so many days alone. Default: all.", min=1, max=36_525
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Read the records again whose event times decide. Needs the topic."
        ),
    ] = False,
    output: Annotated[
        Format,
        typer.Option(
            "--format", help="table is for people; json has one object a delay; csv has a header."
        ),
    ] = Format.table,
) -> None:
    """Show what other watermark delays would cost: late records, state, the wait for a window.

    A longer delay has fewer late records, more state, and windows that are final later. The numbers
    are those of the batches that were: of longer delays exact, of shorter ones bounds, unless
    --exact reads the records between. Writes nothing.

    Without Spark, but for --exact where a Transform decides what enters.
    """
    from spark_jobs.launch.question import Failed  # noqa: PLC0415 - as above
    from spark_jobs.tune.tell import COLUMNS, behind, cells, lines, told  # noqa: PLC0415 - Delta, which the help does not need
    from spark_jobs.where.ask import ask  # noqa: PLC0415 - as above

    try:
        delays = [parse_duration(each) for each in delay or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--delay") from None
    now = datetime.now(UTC)
    with one_line_errors():
        spec = registry.load(pipeline)
        settings = installation(spec) if exact else _without_kafka(spec)
        spec = live_spec(spec, settings.root)
        asking = partial(ask, spec.name, settings)
        since = None if days is None else now - timedelta(days=days)
        try:
            answer = told(spec, settings, delays, since, asking if exact else None)
        except Failed as failed:
            raise typer.Exit(failed.status) from None
    if output is not Format.table:
        rows = Rows(COLUMNS, tuple(price.values() for price in answer.prices))
        for line in (as_json if output is Format.json else as_csv)(rows):
            typer.echo(line)
        return
    layout = as_table(Rows(*cells(answer)), terminal_width(), now, chosen=True)
    for line in (*lines(answer, pipeline), "", *layout.lines, "", *behind(answer)):
        say(line.rstrip())


def _without_kafka(spec: Pipeline) -> Settings:
    settings = Settings.from_environment(cluster=spec.inputs.cluster, root=spec.root, reads=False)
    require_readable(settings.root)
    return settings
