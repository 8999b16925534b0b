"""The command that writes a topic's declaration as a JSON Schema."""

from __future__ import annotations

import typer

from spark_jobs.cli.terminal import PipelineName, examples, one_line_errors
from spark_jobs.registry import find as registry

commands = typer.Typer(rich_markup_mode="rich")


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples("sluice schema flight_events > flights.schema.json"),
)
def schema(pipeline: PipelineName) -> None:
    """Print the fields of a pipeline's topic as a JSON Schema, draft 2020-12; of each of several.

    What JSON Schema has no word for is under x-sluice: a column's name, its type, the form of a
    time. Whoever edits the document can declare a topic by it:
    Topic(..., fields=from_json_schema(Path(__file__).with_name("orders.schema.json").read_text()))
    """
    from spark_jobs.spec.json_schema.writing import as_json_schema  # noqa: PLC0415 - no other command needs it

    with one_line_errors():
        for topic in registry.load(pipeline).topic.each:
            typer.echo(as_json_schema(topic))
