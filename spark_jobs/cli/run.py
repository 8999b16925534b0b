"""Commands that run a pipeline or show what a run would do, and that about workers for runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.terminal import (
    PipelineName,
    PipelineNames,
    examples,
    one_line_errors,
    say,
    takes_next,
    with_spark,
)
from spark_jobs.launch import foreground
from spark_jobs.messages import log
from spark_jobs.messages.job import Explain
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.settings.roots import every_root
from spark_jobs.spec.analysis.columns import misspelt
from spark_jobs.spec.archive import archive_name

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Run a pipeline"
ReportPath = Annotated[
    Path | None,
    typer.Option(
        help="Path of the run's report, as JSON. Default: reports/PIPELINE/RUN_ID.json under "
        "SLUICE_ROOT."
    ),
]
RunId = Annotated[
    str | None,
    typer.Option(help="The run's id in the ops tables. Default: cli- and the time in UTC."),
]


@commands.command(
    "test",
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice test",
        "sluice test flight_events",
        "sluice test --changed main  # what this branch touches",
    ),
)
def run_cases(
    pipelines: PipelineNames = None,
    changed: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT",
            help="Only pipelines whose folder, or a module that they import, differs from this "
            "commit of git.",
        ),
    ] = None,
) -> None:
    """Run the cases of tests.yaml beside each spec: records in, rows and outcomes out.

    Through Spark, in folders that are removed. Needs neither Kafka nor the root.
    """
    from spark_jobs.contracts.at_commit import touched  # noqa: PLC0415 - as above
    from spark_jobs.proof.cases import file_of, required_file  # noqa: PLC0415 - no other command needs them
    from spark_jobs.proof.start import commands as commands_of  # noqa: PLC0415 - as above

    with with_spark():
        names = pipelines or [name for name in registry.names() if file_of(name)]
        for name in names:
            registry.load(name)
            required_file(name)
        if changed is not None:
            names = touched(names, changed)
        if not names:
            say("no cases to run")
        ended = [foreground.run(words, variables) for words, variables in commands_of(names)]
        raise typer.Exit(next(filter(None, ended), 0))


@commands.command(rich_help_panel=PANEL, epilog=examples("sluice plan flight_events"))
@takes_next
def plan(pipeline: PipelineName) -> None:
    """Show the new offsets per partition and the batches to recover. Starts no JVM."""
    from spark_jobs.launch.warm.fits import foretold  # noqa: PLC0415 - other commands need no socket
    from spark_jobs.runs.plan import plan as make_plan  # noqa: PLC0415 - Kafka's client, which validate does not need

    with with_spark():
        settings = Settings.of(spec := registry.load(pipeline))
        for line in misspelt(spec):
            say(f"warning  {pipeline}  {line}")
        found = make_plan(live_spec(spec, settings.root), settings)
        for line in found.lines:
            say(line)
        if not found.idle:
            say(f"{pipeline}: {foretold(settings, found.new_offsets)}")


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice drain flight_events",
        "sluice drain flight_events --run-id after-the-repair --report /tmp/report.json",
    ),
)
@takes_next
def drain(pipeline: PipelineName, report: ReportPath = None, run_id: RunId = None) -> None:
    """Read what Kafka holds now, through spark-submit, and stop.

    Starts nothing if there is nothing to do.

    Prints a line for each batch, with the offsets left. Ctrl-C stops after the current batch; a
    second Ctrl-C stops at once.
    """
    _drain(pipeline, report, run_id)


@commands.command(
    rich_help_panel=PANEL, epilog=examples("sluice archive flights", "sluice plan archive__flights")
)
def archive(
    topic: Annotated[
        str,
        typer.Argument(
            help="A topic with an archive; of a named cluster CLUSTER/TOPIC.",
            metavar="TOPIC",
        ),
    ],
    run_id: RunId = None,
) -> None:
    """Archive the topic's new records, through spark-submit, and stop.

    The archive of a topic is the pipeline archive__TOPIC: plan, show, doctor, reset and maintain
    take that name.
    """
    _drain(archive_name(topic), None, run_id)


def _drain(pipeline: str, report: Path | None, run_id: str | None) -> None:
    from spark_jobs.cli.draining import drain_one, run_id_of  # noqa: PLC0415 - as above

    log.setup(log_format())
    drain_one(pipeline, report, run_id_of(run_id))


@commands.command(rich_help_panel=PANEL, epilog=examples("sluice explain departure_delays"))
@takes_next
def explain(pipeline: PipelineName) -> None:
    """Show the physical plan, a sentence for each stateful operator, and what evicts its state.

    Reads no records.
    """
    from spark_jobs.launch.submit import command, environment  # noqa: PLC0415 - as above

    with with_spark():
        settings = Settings.of(registry.load(pipeline))
        words = command(settings, Explain(pipeline=pipeline))
        variables = {**os.environ, **environment(settings)}
        raise typer.Exit(foreground.run(words, variables))


@commands.command(rich_help_panel=PANEL, epilog=examples("sluice worker", "sluice worker stop"))
def worker(
    action: Annotated[
        Literal["status", "stop"],
        typer.Argument(help="status shows them; stop lets them end, behind a run that is at work."),
    ] = "status",
) -> None:
    """Show or stop this machine's workers for warm runs.

    Where SLUICE_WARM lets it, a run starts a worker for its root and user, and another one where
    those that are there are busy and memory is free. It keeps Spark's JVM for the runs after it. It
    ends by itself: when no run came (SLUICE_WARM_IDLE_MINUTES), after SLUICE_WARM_DRAINS, above
    SLUICE_WARM_MEMORY_MB, behind a failed run, where memory becomes short, and when code, jars,
    settings or environment have changed. While it is idle it does drains of its own, which compile
    its code.

    To end a run at work at once, kill the process that it shows: the next run resumes.
    """
    from spark_jobs.launch.warm.fits import lines, shown  # noqa: PLC0415 - other commands need no socket
    from spark_jobs.launch.warm.place import log_path, socket_paths  # noqa: PLC0415 - as above

    with one_line_errors():
        for root in every_root():
            every = [(path, shown(path, ends=action == "stop")) for path in socket_paths(root)]
            said = [each for path, found in every if found for each in lines(found, log_path(path))]
            for line in said or [f"no worker for {root}"]:
                say(line)
