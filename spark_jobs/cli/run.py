"""Commands that run a pipeline or show what a run would do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from spark_jobs import log
from spark_jobs.analysis.overflow import overflowing
from spark_jobs.analysis.rounding import rounding_line
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.cli.terminal import (
    PipelineName,
    PipelineNames,
    console,
    examples,
    one_line_errors,
    say,
)
from spark_jobs.launch import relay
from spark_jobs.messages.job import Explain, Validate
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.spec import Pipeline
from spark_jobs.spec.archive import archive_name
from spark_jobs.spec.duration import interval

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
    rich_help_panel=PANEL,
    epilog=examples("sluice validate", "sluice validate departure_delays --deep"),
)
def validate(
    pipelines: PipelineNames = None,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Also let Spark plan each query, and Great Expectations judge no rows: they find "
            "unknown columns, types, functions and arguments. Reads no records.",
        ),
    ] = False,
) -> None:
    """Check pipelines' specs, without Spark, Kafka or Airflow.

    With --deep, with Spark: some seconds for each pipeline, and still without Kafka.
    """
    from spark_jobs.decode.schemed.shape import refuse_disagreeing  # noqa: PLC0415 - decoders load libraries

    with one_line_errors():
        for name in pipelines or (*registry.names(), *registry.archives()):
            spec = registry.load(name)
            for label, each in ((name, spec), (f"{name} NEXT", registry.load_next(name))):
                if each:
                    refuse_disagreeing(each.topic)
                    console.print(
                        f"[green]ok[/]  [bold]{label}[/]  {each.topic.name} -> {_steps(each)} -> "
                        f"{'archive' if each.is_archive else each.output_mode}"
                    )
                    for line in overflowing(each):
                        say(f"warning  {label}  {line}")
                    if rounding := rounding_line(each):
                        say(f"    {rounding}")
        if deep:
            _plan_with_spark(pipelines or registry.names())


@commands.command(
    "test",
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice test",
        "sluice test flight_events",
        "sluice test --changed main     (what this branch touches)",
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
    from spark_jobs.proof.cases import file_of, required_file  # noqa: PLC0415 - no other command needs them
    from spark_jobs.proof.start import commands as commands_of  # noqa: PLC0415 - as above
    from spark_jobs.proof.touched import touched  # noqa: PLC0415 - as above

    with one_line_errors():
        names = pipelines or [name for name in registry.names() if file_of(name)]
        for name in names:
            registry.load(name)
            required_file(name)
        if changed is not None:
            names = touched(names, changed)
        if not names:
            say("no cases to run")
        ended = [relay.run(words, variables) for words, variables in commands_of(names)]
        raise typer.Exit(next(filter(None, ended), 0))


@commands.command(rich_help_panel=PANEL, epilog=examples("sluice plan flight_events"))
def plan(pipeline: PipelineName) -> None:
    """Show the new offsets per partition and the batches to recover. Starts no JVM."""
    from spark_jobs.runs.plan import plan as make_plan  # noqa: PLC0415 - Kafka's client, which validate does not need

    with one_line_errors():
        spec, settings = registry.load(pipeline), Settings.from_environment()
        for line in make_plan(live_spec(spec, settings.root), settings).lines:
            say(line)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice drain flight_events",
        "sluice drain flight_events --run-id after-the-repair --report /tmp/report.json",
    ),
)
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
        str, typer.Argument(help="A topic that declares an archive.", metavar="TOPIC")
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
def explain(pipeline: PipelineName) -> None:
    """Show the physical plan, a sentence for each stateful operator, and what evicts its state.

    Reads no records.
    """
    from spark_jobs.launch.submit import command, environment  # noqa: PLC0415 - as above

    with one_line_errors():
        registry.load(pipeline)
        settings = Settings.from_environment()
        words = command(settings, Explain(pipeline=pipeline))
        variables = {**os.environ, **environment(settings)}
        raise typer.Exit(relay.run(words, variables))


def _plan_with_spark(names: Iterable[str]) -> None:
    """Raises typer.Exit, at the end, with the status of the first that Spark cannot plan."""
    from spark_jobs.launch.submit import command, environment  # noqa: PLC0415 - as above

    if not os.environ.get("SLUICE_KAFKA_CONFIG"):
        os.environ.setdefault("SLUICE_KAFKA", "localhost:9092")  # nobody asks it anything
    settings = Settings.from_environment()
    variables = {**os.environ, **environment(settings)}
    commands_of = (command(settings, Validate(pipeline=name)) for name in names)
    ended = [relay.run(words, variables) for words in commands_of]
    if failed := next(filter(None, ended), 0):
        raise typer.Exit(failed)


def _steps(spec: Pipeline) -> str:
    words: list[str] = [step.kind for step in spec.steps] or ["every record"]
    delay = f" (watermark {interval(spec.watermark_delay)})" if spec.watermark_delay else ""
    return " -> ".join(words) + delay
