"""Commands that show where records are: which days of a table have all of theirs, and the fate of
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.cli.formats import Format, as_csv, as_json, as_table
from spark_jobs.cli.repair import PANEL, From, To
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    installation,
    one_line_errors,
    say,
    takes_next,
    terminal_width,
    with_spark,
)
from spark_jobs.errors import KafkaRefused, KafkaUnreachable
from spark_jobs.messages import log
from spark_jobs.messages.request import Request
from spark_jobs.ops.views import WHEN, Rows
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import log_format
from spark_jobs.source.sources import source_of
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.repair.find.coverage import Coverage, Interval
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.where.fate import Fate

commands = typer.Typer(rich_markup_mode="rich")
SHORT = 20
"""More fates are a table."""
NAMES = ("from", "to", "state", "late", "replayable", "last", WHEN, "who")


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice coverage departure_delays",
        "sluice coverage departure_delays --from 2013-02-01 --to 2013-03-01",
        "sluice coverage departure_delays --format json | jq 'select(.late > 0)'",
    ),
)
@takes_next
def coverage(
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            help="table is for people, and joins days of the same state; json has one object a "
            "day or hour; csv has a header.",
        ),
    ] = Format.table,
) -> None:
    """Show which days have all their records, and which wait for a repair. Writes nothing.

    The pipeline's Ranges(every=...) gives the days, or hours.
    """
    from spark_jobs.repair.find.coverage import coverage as cover  # noqa: PLC0415 - Delta, which the help does not need

    with one_line_errors():
        settings = installation(spec := registry.load(pipeline))
        spec = live_spec(spec, settings.root)
        bound = Request(start=start, end=end).span
        earliest = _earliest(spec, settings)
        found = cover(spec, Paths(settings.root, spec), earliest, bound)
    if output is not Format.table:
        lines = as_json if output is Format.json else as_csv
        rows = Rows(NAMES, tuple(map(_values, found.intervals)))
        for line in lines(rows):
            typer.echo(line)
        return
    for line in _told(found, asked=earliest is not None):
        typer.echo(line.rstrip())


def _earliest(spec: Pipeline, settings: Settings) -> Offsets | None:
    try:
        return source_of(spec, settings).state().earliest
    except (KafkaUnreachable, KafkaRefused):
        return None


def _told(found: Coverage, *, asked: bool) -> Iterator[str]:
    final = f"rows before {found.until:%F %H:%M} are final" if found.until else "no row is final"
    yield f"{found.pipeline}: as of batch {found.batch}, {final}"
    values = tuple(_joined(list(group)) for _, group in groupby(found.intervals, key=_same))
    if values:
        layout = as_table(Rows(NAMES, values), terminal_width(), datetime.now(UTC), chosen=False)
        yield from layout.lines
    else:
        yield "no rows"
    if found.left_out:
        yield f"{found.left_out:,} older ones are left out: give --from and --to"
    yield str(found.balance)
    if found.quarantine.quarantined:
        yield str(found.quarantine)
    yield from map(str, found.gone)
    if not asked:
        yield "Kafka did not answer: which days it no longer has is not known"
    if any(each.state == "late" for each in found.intervals):
        yield f"merge the late records: sluice repair {found.pipeline}"
    if found.quarantine.replayable:
        yield f"merge the quarantined records that are good now: sluice replay {found.pipeline}"


def _same(each: Interval) -> tuple[object, ...]:
    return (each.state, each.repair_id, each.start if each.late or each.replayable else None)


def _joined(group: list[Interval]) -> tuple[object, ...]:
    first = _values(group[0])
    return (first[0], group[-1].end, *first[2:])


def _values(each: Interval) -> tuple[object, ...]:
    waits = (each.late, each.replayable)
    return (each.start, each.end, each.state, *waits, each.kind, each.at, each.who)


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
    for line in _fates_told(found, spec.inputs):
        say(line.rstrip())


def _fates_told(found: list[Fate], inputs: Topics) -> Iterator[str]:
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
