"""The command that drafts a pipeline from a sample of its topic."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.cli.terminal import examples, one_line_errors, say, terminal_width
from spark_jobs.spec.duration import parse_duration

if TYPE_CHECKING:
    from spark_jobs.draft.drafted import Draft

commands = typer.Typer(rich_markup_mode="rich")
SHOWN = 10
LATE = ("1 minute", "10 minutes", "1 hour", "1 day")


@commands.command(
    rich_help_panel="Run a pipeline",
    epilog=examples(
        "sluice new orders --topic shop.orders",
        "sluice new orders --file orders.jsonl          (one record a line; no Kafka)",
    ),
)
def new(
    name: Annotated[str, typer.Argument(help="The new pipeline: a folder, a table, a DAG.")],
    topic: Annotated[str | None, typer.Option(help="Its topic. Default: the name.")] = None,
    file: Annotated[Path | None, typer.Option(help="Records in a file, in place of Kafka.")] = None,
    records: Annotated[int, typer.Option(help="Read at most so many, the newest.", min=1)] = 5_000,
    into: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the pipelines' package. Default: that of SLUICE_PIPELINES, else "
            "pipelines, which it makes."
        ),
    ] = None,
) -> None:
    """Draft a pipeline from a topic's newest records: names, types, times, key, delay, checks.

    Writes NAME/spec.py, which runs as it is, and shows what it makes of the records. Overwrites
    nothing, and commits no offsets. Its comments say what to look at.
    """
    from spark_jobs.draft import folder, sample  # noqa: PLC0415 - loads pyarrow, which the help does not need
    from spark_jobs.draft.drafted import draft  # noqa: PLC0415 - as above
    from spark_jobs.draft.text import text  # noqa: PLC0415 - as above
    from spark_jobs.settings.installation import Settings  # noqa: PLC0415 - as above

    with one_line_errors():
        place = folder.refuse_there(into, name)
        subject = topic or name
        found = (
            sample.of_file(file, records)
            if file
            else sample.of_topic(Settings.from_environment(), subject, records)
        )
        made = draft(name, subject, found)
        written = folder.write(place, text(made, len(found)))
        _show(made, len(found))
        say("")
        say(f"wrote {written}")
        for line in folder.next_steps(into, name):
            say(f"  {line}")


def _show(made: Draft, records: int) -> None:
    from spark_jobs.cli.tables.formats import as_table  # noqa: PLC0415 - as above
    from spark_jobs.ops.views import Rows  # noqa: PLC0415 - as above

    done, names = made.tried, made.spec.topic.columns
    shown = tuple(tuple(row[name] for name in names) for row in done.rows[:SHOWN])
    layout = as_table(Rows(names, shown), terminal_width(), datetime.now(UTC), chosen=False)
    for line in layout.lines:
        say(line.rstrip())
    if layout.left_out:
        say(f"no room for {', '.join(layout.left_out)}")
    say("")
    dropped = f", {done.dropped:,} are tombstones" if done.dropped else ""
    say(f"{len(done.rows):,} of {records:,} records are good{dropped}")
    for reason, count in done.malformed.most_common(SHOWN):
        first = done.examples[reason]
        place = f"partition {first.partition}, offset {first.offset}"
        say(f"  {count:,} malformed: {reason} ({place})")
    if done.premature:
        say(f"  {done.premature:,} of the good ones are more than max_ahead past their arrival")
    if made.spec.watermark_delay:
        late = (f"{made.disorder.late(parse_duration(each)):,} with {each}" for each in LATE)
        say(f"late, by the watermark's delay: {', '.join(late)}")
    for name, note in made.notes.items():
        say(f"look at {name}: {note}")
