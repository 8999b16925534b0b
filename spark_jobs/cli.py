"""`sluice`: the command line. It calls what Airflow's tasks call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from spark_jobs import show as views
from spark_jobs.contract import registry
from spark_jobs.contract.duration import interval
from spark_jobs.contract.errors import SluiceError
from spark_jobs.contract.paths import report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.settings import Settings, root
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.store import is_remote
from spark_jobs.contract.store_errors import told
from spark_jobs.contract.summary import check_line, summary

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.reset import Intent

app = typer.Typer(
    help="Stateful streaming on a schedule: drain Kafka through Spark's state into Delta, and account for every record.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
)
console = Console(soft_wrap=True, highlight=False)
Execute = Annotated[bool, typer.Option("--execute", help="do it; without this it is only shown")]
PipelineName = Annotated[str, typer.Argument(help="a folder under spark_jobs/pipelines", metavar="PIPELINE")]


@app.command(epilog="Examples:  sluice validate   |   sluice validate departure_delays")
def validate(pipelines: Annotated[list[str] | None, typer.Argument(help="default: all of them")] = None) -> None:
    """Check pipelines' specs, without Spark, Kafka or Airflow."""
    with _one_line_errors():
        for name in pipelines or registry.names():
            spec = registry.load(name)
            console.print(f"[green]ok[/]  [bold]{name}[/]  {spec.topic.name} -> {_steps(spec)} -> {spec.output_mode}")


@app.command(epilog="Example:  sluice plan flight_events")
def plan(pipeline: PipelineName) -> None:
    """Say what a drain would do: new offsets by partition, unfinished business, or nothing. Starts no JVM."""
    from spark_jobs.plan import plan as make_plan  # noqa: PLC0415 - Kafka's client, which validate does not need

    with _one_line_errors():
        for line in make_plan(registry.load(pipeline), Settings.from_environment()).lines:
            _say(line)


@app.command(epilog="Example:  sluice drain flight_events --report /tmp/report.json")
def drain(
    pipeline: PipelineName,
    report: Annotated[Path | None, typer.Option(help="where to write the report; default: beside the root's reports")] = None,
    run_id: Annotated[str | None, typer.Option(help="the run's name in the ops tables; default: made from the time")] = None,
) -> None:
    """Consume what Kafka holds now, through spark-submit, and stop. Runs nothing where there is nothing to do."""
    from spark_jobs.attended import attend  # noqa: PLC0415
    from spark_jobs.plan import plan as make_plan  # noqa: PLC0415 - as above
    from spark_jobs.submit import application, command, environment  # noqa: PLC0415

    with _one_line_errors():
        spec, settings = registry.load(pipeline), Settings.from_environment()
        for line in (planned := make_plan(spec, settings)).lines:
            _say(line)
        if planned.idle:
            return
        run_id = run_id or f"cli-{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
        path = report or report_path(settings.root, pipeline, run_id)
        path.unlink(missing_ok=True)
        words = command(settings, pipeline, path, run_id, planned.new_offsets)
        attend(words, {**os.environ, **environment(settings)}, application(), _say)
        _summarise(read_report(path), path)


@app.command(epilog="Example:  sluice explain departure_delays")
def explain(pipeline: PipelineName) -> None:
    """Show the physical plan, its stateful operators in a sentence each, and what evicts their state. Reads nothing."""
    from spark_jobs.submit import environment, explanation  # noqa: PLC0415 - as above

    with _one_line_errors():
        registry.load(pipeline)
        settings = Settings.from_environment()
        words, variables = explanation(settings, pipeline), {**os.environ, **environment(settings)}
        raise typer.Exit(subprocess.run(words, env=variables, check=False).returncode)


@app.command(epilog="Examples:  sluice state departure_delays --key carrier=AA --key origin=JFK   |   "
                    "sluice state aircraft_rotations --key tail_number=N14228 --changes")
def state(
    pipeline: PipelineName,
    key: Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="only this key; repeat for more")] = None,
    step: Annotated[int | None, typer.Option(help="only this step, as explain counts; default: all that have the key")] = None,
    at_batch: Annotated[int | None, typer.Option(help="the state after this batch; default: the last committed")] = None,
    changes: Annotated[bool, typer.Option("--changes", help="what each batch changed in the key, newest first")] = False,
    batches: Annotated[int, typer.Option(help="how many batches to tell the changes of", min=1, max=100)] = 10,
    limit: Annotated[int, typer.Option(help="how many rows to show, by key", min=1, max=10_000)] = 20,
) -> None:
    """Show what the stateful steps remember: keys, groups, variables, timers. Disturbs no run and writes nothing."""
    from spark_jobs.state.inquiry import Inquiry, resolve  # noqa: PLC0415 - as above
    from spark_jobs.submit import environment, inspection  # noqa: PLC0415 - as above

    with _one_line_errors():
        spec, settings = registry.load(pipeline), _installation()
        inquiry = Inquiry(tuple(key or ()), step, at_batch, changes, batches, limit)
        resolve(spec, settings, inquiry)
        words, variables = inspection(settings, pipeline, inquiry.words()), {**os.environ, **environment(settings)}
        raise typer.Exit(subprocess.run(words, env=variables, check=False).returncode)


@app.command(epilog="Examples:  sluice reset flight_events   |   sluice reset flight_events --execute")
def reset(pipeline: PipelineName, execute: Execute = False) -> None:
    """Begin anew: move checkpoint and table aside, so that the next drain reads Kafka from its earliest offsets."""
    from spark_jobs.reset import reset as intend  # noqa: PLC0415 - as above

    with _one_line_errors():
        _carry_out(intend(registry.load(pipeline), _installation()), execute=execute)


@app.command(epilog="Example:  sluice rewind flight_events --to-batch 7 --execute")
def rewind(
    pipeline: PipelineName,
    to_batch: Annotated[int, typer.Option(help="go back to the end of this batch: sluice show batches", min=0)],
    execute: Execute = False,
) -> None:
    """Go back to the end of a batch: checkpoint, table and account; the next drain reads on from there."""
    from spark_jobs.reset import rewind as intend  # noqa: PLC0415 - as above

    with _one_line_errors():
        _carry_out(intend(registry.load(pipeline), _installation(), to_batch), execute=execute)


@app.command(epilog="Examples:  sluice doctor flight_events   |   sluice doctor flight_events --execute")
def doctor(pipeline: PipelineName, execute: Execute = False) -> None:
    """Find the checkpoint's torn, changed and missing files, name each, and do the safe repair. What it replaces is kept."""
    from spark_jobs.doctor import doctor as intend  # noqa: PLC0415 - as above

    with _one_line_errors():
        _carry_out(intend(registry.load(pipeline), _installation()), execute=execute)


def _carry_out(intent: Intent, *, execute: bool) -> None:
    for line in intent.lines:
        _say(line)
    if intent.execute is None:
        return
    for line in (intent.execute() or ()) if execute else ():
        _say(line)
    console.print("done" if execute else "nothing is done yet: add --execute")


@app.command(epilog="Examples:  sluice show runs   |   sluice show late --pipeline departure_delays --limit 5")
def show(
    table: Annotated[views.Table, typer.Argument(help="which of the ops tables")],
    pipeline: Annotated[str | None, typer.Option(help="only this pipeline")] = None,
    limit: Annotated[int, typer.Option(help="how many rows, newest first", min=1, max=10_000)] = 20,
) -> None:
    """Show what Sluice wrote down: runs, batches, late and quarantined records, checks. Reads Delta without Spark."""
    with _one_line_errors():
        if pipeline is not None:
            registry.load(pipeline)
        settled = root()
        _require_readable(settled)
        Console().print(views.view(settled, table, pipeline, limit))


def _say(line: str) -> None:
    """As it is: a value in brackets would be taken for rich's markup, and vanish, or be an error of rich's."""
    console.print(line, markup=False)


def _installation() -> Settings:
    """The settings, once the root is found to answer."""
    settings = Settings.from_environment()
    _require_readable(settings.root)
    return settings


def _require_readable(root: str) -> None:
    if is_remote(root):
        from spark_jobs.store import require_readable  # noqa: PLC0415 - a disk needs no client

        require_readable(root)


def _steps(spec: Pipeline) -> str:
    words = [step.kind for step in spec.steps]
    delay = f" (watermark {interval(spec.watermark_delay)})" if spec.watermark_delay else ""
    return " -> ".join(words) + delay


def _summarise(report: Report, path: Path | UPath) -> None:
    first, *more = summary(report)
    _say(first)
    for check in report.failing("critical") + report.failing("warning"):
        console.print(Text(f"  {check_line(check)}", "yellow"))
    for line in more:
        _say(f"  {line}")
    _say(f"report: {path}")
    if report.problem:
        raise report.problem.error()


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """A SluiceError becomes one line and its exit status."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception as failure:
        error = failure if isinstance(failure, SluiceError) else told(failure)
        if error is None:
            raise
        line = Text.assemble((error.code, "red"), f" {error.what} {error.remedy}")
        Console(stderr=True, soft_wrap=True).print(line, highlight=False)
        raise typer.Exit(error.exit_status) from None


if __name__ == "__main__":
    sys.exit(app())
