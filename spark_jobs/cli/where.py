"""The command that tells what became of records, by their places."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.cli.next import takes_next
from spark_jobs.cli.tables.formats import Format, as_csv, as_json, as_table
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    installation,
    say,
    terminal_width,
    with_spark,
)
from spark_jobs.messages import log
from spark_jobs.ops.views import Rows
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import log_format

if TYPE_CHECKING:
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.where.fate import Fate

commands = typer.Typer(rich_markup_mode="rich")


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples(
        "sluice where flight_events 0:1207  # partition 0, offset 1207",
        "sluice where flight_events 0:1200-1300,3:17",
        "sluice where orders orders_us/0:44  # of several topics",
        "sluice where flight_events --key \"event_id = 'UA1545-20130101'\"",
        "sluice where flight_events 0:0-9999 --format json | jq -r .outcome | sort",
    ),
)
@takes_next
def where(
    pipeline: PipelineName,
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PARTITION:OFFSET...",
            help="The records: PARTITION:OFFSET, PARTITION:FIRST-LAST, or several with commas.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="In place of PARTITION:OFFSET: all records that runs have read and for which this "
            "condition over the topic's fields holds. It reads the topic, by Spark.",
        ),
    ] = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            help="table is for people; json has one object a record; csv has a header.",
        ),
    ] = Format.table,
) -> None:
    """Tell what became of a record: batch, outcome, reason, rows, version, event, repairs.

    It keeps nothing for this, and asks what is kept already. What cannot be told is said, with the
    reason. Writes nothing.

    Without Spark, but where a Transform decides, or copies are looked for among many records.
    """
    from spark_jobs.where import asked  # noqa: PLC0415 - Delta, which the help does not need
    from spark_jobs.where.ask import Failed, ask  # noqa: PLC0415 - as above
    from spark_jobs.where.fate import COLUMNS  # noqa: PLC0415 - as above
    from spark_jobs.where.tell import Telling  # noqa: PLC0415 - as above

    if bool(places) == (key is not None):
        raise typer.BadParameter("give either places or --key", param_hint="PARTITION:OFFSET")
    log.setup(log_format())
    with with_spark():
        settings = installation(spec := registry.load(pipeline))
        spec = live_spec(spec, settings.root)
        telling = Telling(spec, settings, lambda job: ask(job, settings))
        try:
            if key is not None:
                wanted = telling.by_key(key, asked.MOST)
            else:
                wanted = asked.places(spec.inputs, places or ())
            found = telling.fates(wanted)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="PARTITION:OFFSET") from None
        except Failed as failed:
            raise typer.Exit(failed.status) from None
    if output is not Format.table:
        rows = Rows(COLUMNS, tuple(each.values(spec.inputs) for each in found))
        for line in (as_json if output is Format.json else as_csv)(rows):
            typer.echo(line)
        return
    for line in _told(found, spec.inputs):
        say(line.rstrip())


SHORT = 20
"""More records are a table."""


def _told(found: list[Fate], inputs: Topics) -> Iterator[str]:
    from spark_jobs.where.fate import COLUMNS  # noqa: PLC0415 - as above

    if not found:
        yield "no record that a run has read"
        return
    if len(found) <= SHORT:
        for each in found:
            yield from each.lines(inputs)
        return
    rows = Rows(COLUMNS, tuple(each.values(inputs) for each in found))
    layout = as_table(rows, terminal_width(), datetime.now(UTC), chosen=False)
    yield from layout.lines
    if layout.left_out:
        yield f"no room for {', '.join(layout.left_out)}: --format json has all"
