"""Commands for the days on which a number is wrong: since when, and what another delay costs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.formats import as_table
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
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
) -> None:
    """Tell since when a table is wrong: the commit, and the run, batch or repair that made it.

    Write what is wrong, not what should be. The condition must be true now: the command asks the
    versions that are kept, by halves, and writes nothing. A condition that came and went is told
    with each change that it met. Versions whose files VACUUM has removed are named, not guessed.

    Without Spark. Each version that is asked is one read of the table.
    """
    from spark_jobs.since.tell import lines, told  # noqa: PLC0415 - Delta, which the help does not need

    with one_line_errors():
        require_readable(root := root_of(spec := registry.load(pipeline)))
        for line in lines(told(live_spec(spec, root), root, condition, key, right, wrong, _said)):
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
) -> None:
    """Show what other watermark delays would cost: late records, state, the wait for a window.

    A longer delay has fewer late records, more state, and windows that are final later. The numbers
    are those of the batches that were: of longer delays exact, of shorter ones bounds, unless
    --exact reads the records between. Writes nothing.

    Without Spark, but for --exact where a Transform decides what enters.
    """
    from spark_jobs.tune.tell import COLUMNS, cells, told  # noqa: PLC0415 - as above
    from spark_jobs.where.ask import ask  # noqa: PLC0415 - as above

    try:
        delays = [parse_duration(each) for each in delay or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--delay") from None
    now = datetime.now(UTC)
    with one_line_errors():
        of, reads = (spec := registry.load(pipeline)).inputs, exact and spec.inputs.of_kafka
        settings = Settings.from_environment(cluster=of.cluster, root=spec.root, reads=reads)
        require_readable(settings.root)
        spec = live_spec(spec, settings.root)
        since = None if days is None else now - timedelta(days=days)
        asking = partial(ask, spec.name, settings) if exact else None
        answer = told(spec, settings, delays, since, asking)
    layout = as_table(Rows(COLUMNS, (*cells(answer),)), terminal_width(), now, chosen=True)
    for line in (*answer.head, "", *layout.lines, "", *answer.notes):
        say(line.rstrip())
