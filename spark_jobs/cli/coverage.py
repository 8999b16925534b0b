"""The command that shows which days of a table have all their records."""

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
    takes_next,
    terminal_width,
)
from spark_jobs.errors import KafkaRefused, KafkaUnreachable
from spark_jobs.messages.request import Request
from spark_jobs.ops.views import WHEN, Rows
from spark_jobs.registry import find as registry
from spark_jobs.source.sources import source_of
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.repair.find.coverage import Coverage, Interval
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")
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
