"""Commands that only read: the state of the steps, and the ops tables."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import known_spec, live_spec
from spark_jobs.cli.formats import Format, as_csv, as_json, as_table
from spark_jobs.cli.layout import fold, with_topics
from spark_jobs.cli.terminal import (
    PipelineName,
    PipelineOrNone,
    examples,
    installation,
    one_line_errors,
    require_readable,
    takes_next,
    terminal_width,
    with_spark,
)
from spark_jobs.errors import RootEmpty
from spark_jobs.errors.base import visible
from spark_jobs.launch import foreground
from spark_jobs.messages.job import ShowState, StateQuery
from spark_jobs.ops import views
from spark_jobs.ops.views import Rows
from spark_jobs.pages.at_work import words
from spark_jobs.pages.chart import Unit, line
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import every_root, root_of
from spark_jobs.storage.root.store import is_remote, opened

SERIES: dict[str, tuple[str, Unit]] = {
    "state_rows": ("state", "rows"),
    "rows_out": ("written", "rows"),
    "read": ("read", "records"),
}
"""Column -> what its numbers are, and their unit."""


def growth(rows: Rows) -> Iterator[str]:
    """A line for each of these columns, of each pipeline, oldest left."""
    of = rows.names.index("pipeline") if "pipeline" in rows.names else None
    for name in dict.fromkeys("" if of is None else str(row[of]) for row in rows.values):
        own = [row for row in reversed(rows.values) if of is None or row[of] == name]
        for column, (told, unit) in SERIES.items():
            if column in rows.names:
                values = [row[rows.names.index(column)] for row in own]
                yield f"{name} {told:<8}{line(values, unit)}".lstrip()


commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Inspect"


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice state departure_delays --key carrier=AA --key origin=JFK",
        "sluice state departure_delays --step 2 --at-batch 7 --limit 50",
        "sluice state aircraft_rotations --key tail_number=N14228 --changes",
        "sluice state departure_delays --keep  # for the page State in Airflow's UI",
    ),
)
@takes_next
def state(
    pipeline: PipelineName,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Show only this key. Repeat the option for a key of several columns.",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            help="Show only this step, counted from 1 as in sluice explain. Default: all steps "
            "with this key."
        ),
    ] = None,
    at_batch: Annotated[
        int | None,
        typer.Option(
            help="Show the state as it was after this batch. Default: the last committed batch."
        ),
    ] = None,
    changes: Annotated[
        bool,
        typer.Option(
            "--changes",
            help="Show what each batch changed in the key, newest first, instead of the state.",
        ),
    ] = False,
    batches: Annotated[
        int, typer.Option(help="Number of batches to compare for --changes.", min=1, max=100)
    ] = 10,
    limit: Annotated[
        int,
        typer.Option(help="Number of rows to show, in the order of the key.", min=1, max=10_000),
    ] = 20,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="Keep the answer under the root, for the page State in Airflow's UI: row counts, "
            "and the rows themselves if SLUICE_RECORD_BYTES is shown.",
        ),
    ] = False,
) -> None:
    """Show the state of the stateful steps: keys, groups, variables, timers.

    Without a key: also the sizes of keys, when rows expire, and when the budget is reached.

    Without --keep it writes nothing. It does not disturb a run.
    """
    from spark_jobs.launch.submit import command, environment  # noqa: PLC0415 - as above
    from spark_jobs.pages import growth as growth_words  # noqa: PLC0415 - as below
    from spark_jobs.pages.growth import growth  # noqa: PLC0415 - as below
    from spark_jobs.runs.told.state_query import resolve  # noqa: PLC0415 - Delta, which the help does not need

    with with_spark():
        spec = registry.load(pipeline)
        settings = installation(spec)
        spec = live_spec(spec, settings.root)
        whole = not key and not changes
        query = StateQuery(
            tuple(key or ()), step, at_batch, changes, batches, limit, keep, measured=whole
        )
        resolve(spec, settings, query)
        words = command(settings, ShowState(pipeline=pipeline, query=query))
        variables = {**os.environ, **environment(settings)}
        status = foreground.run(words, variables)
        if status == 0 and query == StateQuery(limit=limit, keep=keep, measured=True):
            found = growth(opened(settings.root), spec)
            for line in growth_words.lines(found, datetime.now(UTC)):
                typer.echo(line)
    raise typer.Exit(status)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice show runs",
        "sluice show late departure_delays --limit 5",
        "sluice show checks --columns outcome,type,column,observed,sample",
        "sluice show batches --format json | jq .read",
        "sluice show growth departure_delays  # state and rows of each run, as bars",
    ),
)
def show(
    table: Annotated[
        views.Table,
        typer.Argument(
            metavar="TABLE",
            help="The ops table. operators and topics are made of batches; growth is the state and "
            "the rows of each run, as bars.",
        ),
    ],
    pipeline: PipelineOrNone = None,
    limit: Annotated[
        int, typer.Option(help="Number of rows to show, newest first.", min=1, max=10_000)
    ] = 20,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Show these columns, in this order. Default: the most important ones that fit; "
            "in json and csv, all that a wide table would have.",
        ),
    ] = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            help="table is for people; json has one object a line; csv has a header. In json and "
            "csv, times are "
            "ISO 8601 in UTC and numbers are raw. In a pipe, a table has all columns at full "
            "width, unless the "
            "variable COLUMNS gives a width.",
        ),
    ] = Format.table,
) -> None:
    """Show an ops table: runs, batches, operators, late and quarantined records, checks; of one
    pipeline, or of all in each root.

    Reads Delta without Spark.

    Times are UTC. If the terminal is too narrow for all columns, the last line lists those that are
    left out.
    """
    with one_line_errors():
        roots = [root_of(registry.load(pipeline))] if pipeline is not None else every_root()
        names = _chosen(table, columns) or _usual(table, pipeline, output)
        for where in roots:
            require_readable(where)
            if not (is_remote(where) or opened(where).is_dir()):
                raise RootEmpty.absent(root=where)
        found = [(root, views.select(root, table, pipeline, limit, names)) for root in roots]
        people = table is views.Table.runs and output is Format.table
        now = [*_at_work(roots[0], pipeline)] if pipeline and people else []
    if output is not Format.table:
        every = views.Rows(names, tuple(row for _, rows in found for row in rows.values))
        for line in (as_json if output is Format.json else as_csv)(every):
            typer.echo(line)
        return
    for line in now:
        typer.echo(line)
    for where, rows in found:
        of = f", of {pipeline}" if pipeline else f", in {where}" if len(roots) > 1 else ""
        lines = _table(
            f"{table}, newest first{of}",
            with_topics(rows, pipeline, where),
            where,
            chosen=columns is not None,
        )
        for line in (*_charts(table, rows), *lines):
            typer.echo(line)


def _charts(table: views.Table, rows: views.Rows) -> Iterator[str]:
    if table is views.Table.growth and rows.values and (width := terminal_width()):
        yield from chain.from_iterable(fold(line, width) for line in growth(rows))
        yield ""


def _at_work(where: str, pipeline: str) -> Iterator[str]:
    """ops.runs has no row of a run that has not ended."""
    from spark_jobs.ops.at_work import at_work  # noqa: PLC0415 - pyarrow, which the help does not need

    for work in at_work(opened(where), pipeline, datetime.now(UTC)):
        told = words(work, known_spec(pipeline, where))
        parts = (told["standing"], told["phase"], f"So far {told['batches']}, left {told['left']};")
        line = " ".join(filter(None, (*parts, f"{told['rate']}; {told['when']}")))
        yield from fold(f"now: {visible(work.run_id)}: {line}", terminal_width() or 10_000)


def _chosen(table: views.Table, given: str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = dict.fromkeys(filter(None, map(str.strip, given.split(","))))
    known = views.columns(table)
    there_are = f"There are: {', '.join(known)}."
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise typer.BadParameter(
                f"{name!r} is no column of {table}.{hint} {there_are}", param_hint="--columns"
            )
    if not names:
        raise typer.BadParameter(f"it names no column. {there_are}", param_hint="--columns")
    return tuple(names)


def _usual(table: views.Table, pipeline: str | None, output: Format) -> tuple[str, ...]:
    """A table of one pipeline has its name in the title. json and csv have the exact time for
    `when`.
    """
    omitted = set[str]()
    if output is not Format.table:
        omitted = {views.WHEN}
    elif pipeline:
        omitted = {"pipeline"}
    return tuple(name for name in views.VIEWS[table].columns if name not in omitted)


def _table(title: str, rows: views.Rows, where: str, *, chosen: bool) -> Iterator[str]:
    """Who finds no rows sees in which root: it may be another than the runs'."""
    width = terminal_width()
    layout = as_table(rows, width, datetime.now(UTC), chosen=chosen)
    left_out = ", ".join(layout.left_out)
    notes = (
        ["", f"No room for: {left_out}. Choose with --columns {','.join(layout.left_out[:3])}"]
        if left_out
        else []
    )
    for text in (title, *(layout.lines if rows.values else [f"no rows in {where}"]), *notes):
        yield from (line.rstrip() for line in fold(text, width)) if width else [text]
