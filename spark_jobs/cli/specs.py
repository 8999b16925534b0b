"""Commands about specs alone: they check them, also against a commit of git, and print schemas."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from spark_jobs.cli.run import PANEL
from spark_jobs.cli.terminal import (
    PipelineName,
    PipelineNames,
    console,
    each_apart,
    examples,
    one_line_errors,
    say,
    terminal_width,
    with_spark,
)
from spark_jobs.contracts.finding import Finding, Whom
from spark_jobs.errors import ContractBroken
from spark_jobs.launch import foreground
from spark_jobs.messages.job import Validate
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, history_days
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.columns import misspelt
from spark_jobs.spec.analysis.rounding import overflowing, rounding_line
from spark_jobs.spec.checks.timely import DAYS_OF_VOLUME, SPANS
from spark_jobs.spec.duration import interval

commands = typer.Typer(rich_markup_mode="rich")
WIDE = 120
"""Of a table in a pipe, as in CI."""


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice validate",
        "sluice validate departure_delays --deep",
        "sluice validate --against main  # what this branch breaks",
        "sluice validate --against $(git merge-base main HEAD)  # if main has gone on",
        "sluice validate --against main --accept consumers  # they were told",
    ),
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
    against: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT",
            help="Also say what the changes since this commit of git break: the state, by the "
            "comparison that a drain makes with its checkpoint; the table; its consumers; "
            "producers of the topic. If they break anybody, the exit status is "
            f"{ContractBroken.exit_status}.",
        ),
    ] = None,
    accept: Annotated[
        list[Whom] | None,
        typer.Option(help="Whom a change may break: it is shown, and fails nothing. May repeat."),
    ] = None,
) -> None:
    """Check pipelines' specs, without Spark, Kafka or Airflow.

    With --deep, with Spark: some seconds for each pipeline, and still without Kafka.

    With --against, beside a commit's specs, which the installed Sluice loads. No checkpoint is
    looked at: the commit is taken for what runs. A pipeline that has accepted no record yet
    survives every change.
    """
    with with_spark() if deep else one_line_errors():
        with each_apart() as apart:
            for name in pipelines or (*registry.names(), *registry.archives()):
                with apart():
                    _judge(name)
        if deep:
            _plan_with_spark(pipelines or registry.names())
        if against is not None:
            _hold_against(against, pipelines, {*(accept or ())})


def _judge(name: str) -> None:
    from spark_jobs.decode.formats import refuse_disagreeing  # noqa: PLC0415 - decoders load libraries
    from spark_jobs.side.refusals import refuse_misdeclared  # noqa: PLC0415 - as above

    spec = registry.load(name)
    for label, each in ((name, spec), (f"{name} NEXT", registry.load_next(name))):
        if each:
            for topic in each.inputs:
                refuse_disagreeing(topic)
            if each.sides:
                refuse_misdeclared(each, Settings.from_environment(root=each.root, reads=False))
            console.print(
                f"[green]ok[/]  [bold]{label}[/]  {each.inputs.name} -> {_steps(each)} -> "
                f"{'archive' if each.is_archive else each.output_mode}"
            )
            doubts = (line for step in each.steps for line in step.doubts)
            for line in (*misspelt(each), *overflowing(each), *_short_history(each), *doubts):
                say(f"warning  {label}  {line}")
            if rounding := rounding_line(each):
                say(f"    {rounding}")


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples("sluice schema flight_events > flights.schema.json"),
)
def schema(pipeline: PipelineName) -> None:
    """Print the fields of a pipeline's topic as a JSON Schema, draft 2020-12; of each of several.

    What JSON Schema has no word for is under x-sluice: a column's name, its type, the form of a
    time. The edited document can declare a topic:
    Topic(..., fields=from_json_schema(Path(__file__).with_name("orders.schema.json").read_text()))
    """
    from spark_jobs.spec.json_schema.writing import as_json_schema  # noqa: PLC0415 - no other command needs it

    with one_line_errors():
        for topic in registry.load(pipeline).inputs:
            typer.echo(as_json_schema(topic))


def _hold_against(ref: str, pipelines: list[str] | None, accepted: set[Whom]) -> None:
    """Raises CommitUnreadable; ContractBroken, once all is shown."""
    from spark_jobs.contracts.at_commit import at_commit  # noqa: PLC0415 - as above
    from spark_jobs.contracts.compare import broken, compare  # noqa: PLC0415 - as above
    from spark_jobs.contracts.contract import side  # noqa: PLC0415 - as above
    from spark_jobs.registry.fingerprint.fields import Declared  # noqa: PLC0415 - as above

    before = at_commit(ref)
    names = pipelines or (*registry.names(), *registry.archives())
    was = {n: of for n, of in before.sides.items() if not pipelines or n in pipelines}
    declared = {name: Declared(registry.load(name)) for name in names}
    found = compare(was, {name: side(name) for name in names}, declared)
    for name, findings in found.items():
        say(f"\n{name}, since {ref} ({before.commit})")
        _show(findings)
    if not found:
        say(f"\nsince {ref} ({before.commit}) no contract has changed")
    if what := broken(found, accepted):
        raise ContractBroken.broken(
            ref=ref,
            commit=before.commit,
            changes=what.changes,
            whom=what.whom,
            pipelines=what.pipelines,
        )


def _show(findings: Iterable[Finding]) -> None:
    from spark_jobs.cli.formats import as_table  # noqa: PLC0415 - as above
    from spark_jobs.ops.views import Rows  # noqa: PLC0415 - as above

    rows = Rows(
        ("breaks", "what changed", "what to do"),
        tuple((", ".join(each.breaks) or "nobody", each.change, each.remedy) for each in findings),
    )
    width = terminal_width() or WIDE
    for line in as_table(rows, width, datetime.now(UTC), chosen=True).lines:
        say(line.rstrip())


def _short_history(spec: Pipeline) -> Iterator[str]:
    days = history_days()
    asked = [str(check.kwargs.get("column")) for check in spec.state_checks]
    if days is not None and days < DAYS_OF_VOLUME and (of := SPANS.keys() & {*asked}):
        yield (
            f"{', '.join(sorted(of))}: `sluice maintain` keeps {days} days (SLUICE_HISTORY_DAYS), "
            f"and volume() needs {DAYS_OF_VOLUME}"
        )


def _plan_with_spark(names: Iterable[str]) -> None:
    """Raises typer.Exit, at the end, with the status of the first that Spark cannot plan."""
    from spark_jobs.launch.submit import command, environment  # noqa: PLC0415 - as above

    ended = []
    for name in names:
        spec = registry.load(name)
        # Of its own root: the live table is there.
        settings = Settings.from_environment(
            cluster=spec.inputs.cluster, root=spec.root, reads=False
        )
        words = command(settings, Validate(pipeline=name))
        ended.append(foreground.run(words, {**os.environ, **environment(settings)}))
    if failed := next(filter(None, ended), 0):
        raise typer.Exit(failed)


def _steps(spec: Pipeline) -> str:
    words: list[str] = [step.kind for step in spec.steps] or ["every record"]
    delay = f" (watermark {interval(spec.watermark_delay)})" if spec.watermark_delay else ""
    return " -> ".join(words) + delay
