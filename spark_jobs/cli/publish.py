"""Commands that do without Airflow what a pipeline's DAG does, for any other scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.run import PANEL, ReportPath, RunId
from spark_jobs.cli.terminal import (
    PipelineName,
    end_undone,
    examples,
    one_line_errors,
    require_readable,
    say,
)
from spark_jobs.messages import log
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.settings.roots import root_of
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import unmended
from spark_jobs.storage.root.paths import Paths

commands = typer.Typer(rich_markup_mode="rich")
MOST = 50_000_000


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice publish flight_events",
        "sluice publish flight_events --after 41 --event /var/spool/flights.json",
    ),
)
def publish(
    pipeline: PipelineName,
    after: Annotated[
        int | None,
        typer.Option(
            help="The number of the last event that you have: the next one is told, also if it "
            "was told before. Default: what nobody was told yet.",
            min=1,
        ),
    ] = None,
    event: Annotated[
        Path | None, typer.Option(help="Write the event into this file, as JSON.")
    ] = None,
) -> None:
    """Show consumers the rows that passed their checks, and number what is new as an event.

    Beside a DAG that publishes it does no harm: both tell each event by one number.
    """
    with one_line_errors():
        _publish(pipeline, after, event)


@commands.command(rich_help_panel=PANEL, epilog=examples("sluice catalog flight_events"))
def catalog(pipeline: PipelineName) -> None:
    """Register the published table in SLUICE_CATALOG, as each publish does."""
    from spark_jobs.table.metastore import register  # noqa: PLC0415 - loads delta-rs, which the help does not need

    with one_line_errors():
        why = "SLUICE_CATALOG names none, or nothing is published yet"
        say(register(*_live(pipeline)) or f"{pipeline} is in no catalog: {why}")


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice run flight_events",
        "0 * * * *  sluice run flight_events || page-someone  # a line of cron",
    ),
)
def run(pipeline: PipelineName, report: ReportPath = None, run_id: RunId = None) -> None:
    """Do what the pipeline's DAG does: plan, drain, judge, publish; repair, if the spec says that
    repairs follow drains.

    Ends with the exit status of what failed: then nothing is published. Two at once: the second
    ends with the status LEASE_HELD.
    """
    from spark_jobs.cli.draining import drain_one, run_id_of  # noqa: PLC0415 - Kafka's client, which the help does not need

    log.setup(log_format())
    drain_one(pipeline, report, run_id_of(run_id))
    with one_line_errors():
        _publish(pipeline, None, None)
        if _repair_waits(pipeline):
            _repair(pipeline)


def _publish(pipeline: str, after: int | None, into: Path | None) -> None:
    from spark_jobs.checkpoint.notes.published import read_published  # noqa: PLC0415 - loads delta-rs, which the help does not need
    from spark_jobs.runs.publish.due import Announced, show_lag  # noqa: PLC0415 - as above
    from spark_jobs.runs.publish.publication import publish  # noqa: PLC0415 - as above

    paths, spec = _live(pipeline)
    last = read_published(paths)
    version = -1 if last.table_version is None else last.table_version
    number = last.number if after is None else after
    if number > last.number:
        raise typer.BadParameter(f"{pipeline} has told {last.number} events.", param_hint="--after")
    if into is not None:
        try:
            into.touch()  # before an event is fixed that could not be written
        except OSError as error:
            why = f"{into} cannot be written: {error.strerror or error}."
            raise typer.BadParameter(why, param_hint="--event") from None
    events = publish(paths, spec, Announced(number, last.generation, version))
    event = next(iter(events), None)
    if event is None:
        say(f"{pipeline}: every row that passed is published")
        if into is not None and not into.stat().st_size:
            into.unlink()
        return
    if into is not None:
        into.write_text(event.model_dump_json(indent=2))
    show_lag(spec, events[-1], lambda: Settings.of(spec))
    where = event.published_table or event.table
    say(
        f"{pipeline}: event {event.number}, version {event.table_version}: "
        f"{event.account.read:,} records since the event before; {where}"
    )


def _live(pipeline: str) -> tuple[Paths, Pipeline]:
    spec = registry.load(pipeline)
    require_readable(where := root_of(spec))
    spec = live_spec(spec, where)
    return Paths(where, spec), spec


def _repair_waits(pipeline: str) -> bool:
    from spark_jobs.repair.find.ranges_due import untried  # noqa: PLC0415 - as above

    paths, spec = _live(pipeline)
    if spec.ranges.repair != "after drain" or unmended(spec):
        return False
    return untried(spec, paths) > 0


def _repair(pipeline: str) -> None:
    """As a person would, who answers no question: what needs an answer is rejected, and the next
    `sluice repair` computes it again.
    """
    from spark_jobs.cli.carry_out import Asked, carry_out, run_id  # noqa: PLC0415 - as above
    from spark_jobs.repair.find.ranges_due import RUN_PREFIX  # noqa: PLC0415 - as above

    asked = Asked(
        (None, None),
        "late records or outdated rows, found behind a drain",
        MOST,
        without_lost=False,
    )
    behind = f"{RUN_PREFIX}{run_id('repair')}"
    try:
        carry_out("repair", pipeline, asked, yes=False, execute=True, behind=behind)
    except typer.Abort:  # there is no terminal to answer at
        end_undone(f"{pipeline}: the repair needs a person: sluice repair {pipeline} --execute")
    _publish(pipeline, None, None)
