"""The commands that show which days of a table have all their records, and that prove them."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.carry_out import computed
from spark_jobs.cli.formats import Format, as_csv, as_json, as_table
from spark_jobs.cli.repair import PANEL, From, To
from spark_jobs.cli.terminal import (
    Execute,
    PipelineName,
    PipelineNames,
    end_undone,
    examples,
    installation,
    one_line_errors,
    say,
    takes_next,
    terminal_width,
    with_spark,
)
from spark_jobs.errors import KafkaRefused, KafkaUnreachable, RangeUnsupported, SluiceError
from spark_jobs.messages import log
from spark_jobs.messages.request import Request
from spark_jobs.ops.views import WHEN, Rows
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import log_format
from spark_jobs.source.sources import source_of
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.prove.covered import Held
    from spark_jobs.repair.find.coverage import Coverage, Interval
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")
PROOF = ("proved", "refuted", "provable")
WAITS = ("late", "outdated", "replayable")
NAMES = ("from", "to", "state", *WAITS, "last", WHEN, "who", *PROOF)


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
    from spark_jobs.prove.covered import covered  # noqa: PLC0415 - Delta, which the help does not need

    with one_line_errors():
        settings = installation(spec := registry.load(pipeline))
        spec = live_spec(spec, settings.root)
        bound = Request(start=start, end=end).span
        held = _asked(spec, settings)
        found = covered(spec, Paths(settings.root, spec), held, bound)
    if output is not Format.table:
        lines = as_json if output is Format.json else as_csv
        rows = Rows(NAMES, tuple(map(_values, found.intervals)))
        for line in lines(rows):
            typer.echo(line)
        return
    for line in _told(found, asked=held is not None):
        typer.echo(line.rstrip())


def _asked(spec: Pipeline, settings: Settings) -> Held | None:
    """None where the source does not answer."""
    from spark_jobs.prove.covered import Held  # noqa: PLC0415 - Delta, which the help does not need

    source = source_of(spec, settings)
    try:
        return Held.by(source, source.state().earliest, datetime.now(UTC))
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
    if soon := [each for each in found.intervals if each.provable_until]:
        yield (
            f"{len(soon):,} of these can be proved until their records leave only: see provable, "
            "or declare Topic(archive=...)"
        )
    if any(each.untold for each in found.intervals):
        yield f"until when they can be proved cannot be told: {found.untold}"
    if any(each.state == "late" for each in found.intervals):
        yield f"merge the late records: sluice repair {found.pipeline}"
    elif any(each.state == "outdated" for each in found.intervals):
        yield f"compute the outdated rows again: sluice repair {found.pipeline}"
    if found.quarantine.replayable:
        yield f"merge the quarantined records that are good now: sluice replay {found.pipeline}"


def _same(each: Interval) -> tuple[object, ...]:
    waits = each.start if each.late or each.outdated or each.replayable else None
    return (each.state, each.repair_id, waits, *_proof(each))


def _proof(each: Interval) -> tuple[object, ...]:
    until = "cannot be told" if each.untold else each.provable_until
    return (each.proved_at, each.refuted_at, until)


def _joined(group: list[Interval]) -> tuple[object, ...]:
    first = _values(group[0])
    return (first[0], group[-1].end, *first[2:])


def _values(each: Interval) -> tuple[object, ...]:
    waits = (each.late, each.outdated, each.replayable)
    return (each.start, each.end, each.state, *waits, each.kind, each.at, each.who, *_proof(each))


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice prove  # dry run, all pipelines: what the next night verifies",
        "sluice prove departure_delays --execute",
    ),
)
def prove(pipelines: PipelineNames = None, execute: Execute = False) -> None:
    """Verify published days, oldest proof first, within SLUICE_PROOF: what a night of Airflow's DAG
    sluice_prove does.

    A pipeline with a wrong day does not stop the others.
    """
    log.setup(log_format())
    with with_spark():
        failed: SluiceError | None = None
        done = True
        for name in pipelines or registry.names():
            try:
                done &= _night(name, execute=execute)
            except RangeUnsupported as error:
                if pipelines:
                    raise
                say(f"{name}: not proved by day: {error.what}")
            except SluiceError as error:
                say(f"{name}: {error}")
                failed = failed or error
        if failed:
            raise failed
        if not done:
            end_undone()


def _night(name: str, *, execute: bool) -> bool:
    """Whether nothing is left to do. Raises what tonight and prove raise."""
    from spark_jobs.prove.night import prove as work, tonight  # noqa: PLC0415 - Kafka's client, which the help does not need

    settings = installation(spec := registry.load(name))
    spec = live_spec(spec, settings.root)
    paths = Paths(settings.root, spec)
    night = tonight(spec, settings, paths, datetime.now(UTC))
    for line in night.lines:
        say(line)
    if not execute:
        return not night.days
    work(spec, settings, night, getpass.getuser(), partial(computed, settings, paths), say)
    return True
