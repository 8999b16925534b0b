"""Commands that change a checkpoint. Each prints its plan, and applies it with --execute."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.terminal import (
    Execute,
    PipelineName,
    PipelineNames,
    PipelineOrNone,
    end_undone,
    examples,
    installation,
    one_line_errors,
    say,
    takes_next,
    with_spark,
)
from spark_jobs.errors import SluiceError, VersionNotLive
from spark_jobs.launch import foreground
from spark_jobs.messages.job import Repartition
from spark_jobs.registry import find as registry
from spark_jobs.spec.pipeline.state import MOST_PARTITIONS

if TYPE_CHECKING:
    from spark_jobs.admin.intent import Intent
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Change a checkpoint"


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice reset flight_events  # dry run", "sluice reset flight_events --execute"
    ),
)
def reset(pipeline: PipelineName, execute: Execute = False) -> None:
    """Start again with an empty checkpoint and a new table: the next drain reads Kafka from its
    earliest offsets.

    Records that Kafka no longer holds are not in the new table.
    """
    from spark_jobs.admin.reset import reset as intend  # noqa: PLC0415 - Delta, which the help does not need

    with one_line_errors():
        try:
            spec, settings = _live(pipeline)
        except VersionNotLive:  # SPEC's begins, whatever was live
            settings = installation(spec := registry.load(pipeline))
        _carry_out(intend(spec, settings), execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice show batches flight_events  # lists the batches",
        "sluice rewind flight_events --to-batch 7  # dry run",
        "sluice rewind flight_events --to-batch 7 --execute",
    ),
)
@takes_next
def rewind(
    pipeline: PipelineName,
    to_batch: Annotated[
        int, typer.Option(help="The last batch to keep. All later batches are read again.", min=0)
    ],
    execute: Execute = False,
) -> None:
    """Set checkpoint, table and account back to the end of a batch.

    The next drain continues from there.
    """
    from spark_jobs.admin.rewind import rewind as intend  # noqa: PLC0415 - as above

    with one_line_errors():
        _carry_out(intend(*_live(pipeline), to_batch), execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice repartition departure_delays  # dry run, the number in spec.py",
        "sluice repartition departure_delays --partitions 4 --execute",
    ),
)
def repartition(
    pipeline: PipelineName,
    partitions: Annotated[
        int | None,
        typer.Option(
            help="State stores for each stateful step. Default: shuffle_partitions in spec.py.",
            min=1,
            max=MOST_PARTITIONS,
        ),
    ] = None,
    execute: Execute = False,
) -> None:
    """Move the state to another number of stores, with Spark. Table and offsets stay.

    A kill leaves the old number. Then the same command begins anew, and a drain goes on.
    """
    from spark_jobs.admin.repartition import plan_repartition  # noqa: PLC0415 - as above
    from spark_jobs.launch.submit import command, environment  # noqa: PLC0415 - as above

    with with_spark():
        spec, settings = _live(pipeline)
        wanted = partitions or spec.state.shuffle_partitions
        planned = plan_repartition(spec, settings, wanted)
        for line in planned.lines:
            say(line)
        if planned.idle:
            return
        if not execute:
            end_undone()
        job = Repartition(pipeline=pipeline, partitions=wanted)
        words = command(settings, job, planned.rows)
        variables = {**os.environ, **environment(settings)}
        raise typer.Exit(foreground.run(words, variables))


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice doctor flight_events  # dry run",
        "sluice doctor flight_events --execute",
        "sluice doctor --installation  # Java, jars, root, Kafka, a line each",
    ),
)
@takes_next
def doctor(
    pipeline: PipelineOrNone = None,
    execute: Execute = False,
    installation: Annotated[
        bool,
        typer.Option(
            "--installation",
            help="In place of a pipeline: what a run needs, what is there, and what is missing.",
        ),
    ] = False,
) -> None:
    """Find torn, changed and missing files of the checkpoint, list them, and repair what is safe.

    Keeps what it replaces.
    """
    if (pipeline is None) != installation:
        raise typer.BadParameter("name a pipeline, or --installation.")
    if pipeline is None:
        _checkup()
        return
    from spark_jobs.admin.doctor import doctor as intend  # noqa: PLC0415 - as above

    with one_line_errors():
        _carry_out(intend(*_live(pipeline)), execute=execute)


def _checkup() -> None:
    from spark_jobs.install.checkup import checkup  # noqa: PLC0415 - as above

    with one_line_errors():
        first = None
        for each in checkup():
            error = each.error
            told = f"{error.code} {error.what} {error.remedy}" if error else each.says
            say(f"{'lacks' if error else 'ok   '}  {each.what}: {told}")
            first = first or error
        if first is not None:
            raise typer.Exit(first.exit_status)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice show checks flight_events  # lists what failed",
        "sluice accept flight_events --reason 'ZZ is new' \\",
        "    --check 'expect_column_values_to_be_in_set(carrier)'",
    ),
)
@takes_next
def accept(
    pipeline: PipelineName,
    check: Annotated[
        list[str],
        typer.Option(
            help="A critical check that failed, as `sluice show checks` names it. Name each."
        ),
    ],
    reason: Annotated[str, typer.Option(help="Why the rows may be published. Consumers see it.")],
    execute: Execute = False,
) -> None:
    """Publish rows although a critical check failed.

    The decision is kept in ops.checks, and is in the asset event.
    """
    from spark_jobs.admin.accept import accept as intend  # noqa: PLC0415 - as above

    with one_line_errors():
        spec, settings = _live(pipeline)
        decided = intend(spec, settings, tuple(check), reason, getpass.getuser())
        _carry_out(decided, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice quarantine departure_delays  # shows what the failed run has proposed",
        "sluice quarantine departure_delays --execute",
        "sluice quarantine departure_delays --record 1:88-90 --reason 'overflows'",
    ),
)
@takes_next
def quarantine(
    pipeline: PipelineName,
    record: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARTITION:OFFSET",
            help="A record, or a range of offsets: PARTITION:FIRST-LAST. Repeat the option for "
            "more. Default: the records that the last run has proposed.",
        ),
    ] = None,
    reason: Annotated[
        str, typer.Option(help="Why, for records that you name. It is in ops.quarantine.")
    ] = "",
    execute: Execute = False,
) -> None:
    """Put records aside on which an expression of the spec fails, so that runs and repairs go on.

    They are malformed from then on, and `sluice replay` can merge them later.
    """
    from spark_jobs.admin.quarantine import quarantine as intend  # noqa: PLC0415 - as above

    with one_line_errors():
        spec, settings = _live(pipeline)
        named = tuple(record or ())
        _carry_out(intend(spec, settings, named, reason, getpass.getuser()), execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice maintain  # dry run, all pipelines",
        "sluice maintain flight_events --execute",
    ),
)
def maintain(pipelines: PipelineNames = None, execute: Execute = False) -> None:
    """Join small files, and remove old files, ops rows and reports that nobody needs.

    A pipeline that cannot be maintained, as while a run works, does not stop the others.
    """
    from spark_jobs.admin.maintain import maintain as intend, maintain_ops  # noqa: PLC0415 - as above

    with one_line_errors():
        refused: SluiceError | None = None
        done = True
        of_roots: dict[str, Settings] = {}
        for name in pipelines or (*registry.names(), *registry.archives()):
            try:
                own = installation(spec := registry.load(name))
                of_roots.setdefault(own.root, own)
                done &= _done(intend(live_spec(spec, own.root), own), execute=execute)
            except SluiceError as error:
                say(f"{name}: {error}")
                refused = refused or error
        for own in of_roots.values():
            done &= _done(maintain_ops(own), execute=execute)
        if refused:
            raise refused
        if not done:
            end_undone()


def _live(pipeline: str) -> tuple[Pipeline, Settings]:
    settings = installation(spec := registry.load(pipeline))
    return live_spec(spec, settings.root), settings


def _carry_out(intent: Intent, *, execute: bool) -> None:
    if not _done(intent, execute=execute):
        end_undone()


def _done(intent: Intent, *, execute: bool) -> bool:
    for line in intent.lines:
        say(line)
    if intent.execute is None:
        return True
    if execute:
        for line in intent.execute() or ():
            say(line)
        say("done")
    return execute
