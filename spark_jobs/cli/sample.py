"""Commands over a sample of a topic: one drafts a pipeline, one tries it, and both write nothing
under the root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    one_line_errors,
    say,
    terminal_width,
    with_spark,
)
from spark_jobs.errors import SampleUnusable
from spark_jobs.messages import log
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.settings.roots import only_root, root_named
from spark_jobs.spec.fields.field import is_name

if TYPE_CHECKING:
    from spark_jobs.draft.drafted import Draft
    from spark_jobs.draft.sample import Sampled
    from spark_jobs.proof.answer import Answer
    from spark_jobs.spec import Topic

commands = typer.Typer(rich_markup_mode="rich")
SHOWN = 10


@commands.command(
    rich_help_panel="Run a pipeline",
    epilog=examples(
        "sluice new shop.orders  # the pipeline shop_orders",
        "sluice new orders --topic shop.orders",
        "sluice new orders --file orders.jsonl  # one record a line; no Kafka",
    ),
)
def new(
    name: Annotated[str, typer.Argument(help="The topic, or the pipeline's name beside --topic.")],
    topic: Annotated[str | None, typer.Option(help="The topic, if NAME is none.")] = None,
    file: Annotated[Path | None, typer.Option(help="Records in a file, in place of Kafka.")] = None,
    cluster: Annotated[str, typer.Option(help="The topic's cluster, if it has a name.")] = "",
    root: Annotated[
        str | None,
        typer.Option(help="Its root, if that has a name. Default: the only one that is declared."),
    ] = None,
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
    from spark_jobs.draft import sample  # noqa: PLC0415 - loads pyarrow, which the help does not need
    from spark_jobs.draft.drafted import draft  # noqa: PLC0415 - as above
    from spark_jobs.draft.folder import (  # noqa: PLC0415 - loads pyarrow, which the help does not need
        next_steps,
        refuse_there,
        text,
        write,
    )
    from spark_jobs.draft.golden import golden  # noqa: PLC0415 - as above
    from spark_jobs.draft.leaf import snake  # noqa: PLC0415 - as above
    from spark_jobs.draft.registered_topic import is_registered, keep_schemas  # noqa: PLC0415 - as above

    with one_line_errors():
        subject = topic or name
        name = name if topic or is_name(name) else snake(name)
        place = refuse_there(into, name, subject)
        where = only_root() if root is None else root
        if root:
            root_named(root)
        settings = Settings.from_environment(cluster=cluster, root=None, reads=file is None)
        found = (
            sample.of_file(file, records) if file else sample.of_topic(settings, subject, records)
        )
        with TemporaryDirectory(prefix="sluice-") as kept:
            if is_registered(found):
                keep_schemas(found, settings, kept)
            made = draft(name, subject, found, kept, cluster=cluster, of_root=where)
            written = write(place, text(made, len(found)), golden(made, kept))
        _show(made, len(found))
        say("")
        for path in written:
            say(f"wrote {os.path.relpath(path)}")
        for line in next_steps(into, name):
            say(f"  {line}")


@commands.command(
    rich_help_panel="Run a pipeline",
    epilog=examples(
        "sluice preview orders",
        "sluice preview orders --records 50000",
        "sluice preview orders --file orders.jsonl  # one record a line; no Kafka",
        "SLUICE_WARM=on sluice preview orders  # the second one takes seconds",
    ),
)
def preview(
    pipeline: PipelineName,
    file: Annotated[Path | None, typer.Option(help="Records in a file, in place of Kafka.")] = None,
    records: Annotated[
        int, typer.Option(help="Read at most so many: the newest, or a file's first.", min=1)
    ] = 5_000,
) -> None:
    """Run a pipeline over its topic's newest records, and write nothing: rows, outcomes, state.

    It is the spec as it is now, through Spark, from no state, in a folder that is removed. Kafka's
    offsets, the root and the state of runs stay as they are. Checks are not judged.

    Late: the share that would come behind a watermark of each delay, if each record were a batch. A
    run of many has fewer.
    """
    from spark_jobs.draft import sample  # noqa: PLC0415 - as above
    from spark_jobs.proof.start import ask  # noqa: PLC0415 - as above

    log.setup(log_format())
    with with_spark():
        spec = registry.load(pipeline)
        if spec.is_several or spec.is_archive:
            raise SampleUnusable.no_preview(pipeline=pipeline)
        settings = Settings.from_environment(
            cluster=spec.inputs.cluster,
            root=spec.root,
            reads=file is None and spec.inputs.of_kafka,
        )
        if file:
            found = sample.of_file(file, records)
        elif spec.inputs.of_kafka:
            found = sample.of_topic(settings, spec.inputs.name, records)
        else:
            found = sample.of_source(spec, settings, records)
        answer = ask(pipeline, settings, found)
        if isinstance(answer, int):
            raise typer.Exit(answer)
        for line in (*_lines(answer, len(found)), *unseen_lines(spec.inputs[0], found)):
            say(line)


def unseen_lines(topic: Topic, found: list[Sampled]) -> Iterator[str]:
    """A line for each declared path that no record has."""
    from spark_jobs.proof.answer import unseen  # noqa: PLC0415 - as above

    for each in unseen(topic, found):
        near = f": did you mean {each.nearest}?" if each.nearest else ""
        yield f"look at {each.field}: none of {each.records:,} records has {each.path}{near}"


def _show(made: Draft, records: int) -> None:
    from spark_jobs.cli.formats import as_table, exact  # noqa: PLC0415 - as above
    from spark_jobs.draft.disorder import around, in_words  # noqa: PLC0415 - as above
    from spark_jobs.ops.views import Rows  # noqa: PLC0415 - as above

    done, names = made.tried, made.spec.inputs.columns
    shown = tuple(tuple(exact(row[name]) for name in names) for row in done.rows[:SHOWN])
    layout = as_table(Rows(names, shown), terminal_width(), datetime.now(UTC), chosen=False)
    for line in layout.lines:
        say(line.rstrip())
    if layout.left_out:
        say(f"no room for {', '.join(layout.left_out)}")
    say("")
    dropped = f", {done.dropped:,} are tombstones" if done.dropped else ""
    of = f"{records:,} records"
    if made.topic.each:
        of = f"{len(done.rows) + done.malformed.total():,} records in {records:,} values"
    say(f"{len(done.rows):,} of {of} are good{dropped}")
    for reason, count in done.malformed.most_common(SHOWN):
        first = done.examples[reason]
        place = f"partition {first.partition}, offset {first.offset}"
        say(f"  {count:,} malformed: {reason} ({place})")
    if done.premature:
        say(f"  {done.premature:,} of the good ones are more than max_ahead past their arrival")
    if made.spec.watermark_delay:
        delays = around(made.spec.watermark_delay, most=5)
        say(f"behind the newest event time: {made.disorder}")
        say(f"late, by the watermark's delay: {in_words(made.disorder, delays)}")
    for name, evidence in made.shown.items():
        say(f"{name}: {evidence}")
    for name, note in made.notes.items():
        say(f"look at {name}: {note}")


def _lines(answer: Answer, sampled: int) -> Iterator[str]:
    from spark_jobs.cli.formats import as_table, exact  # noqa: PLC0415 - as above
    from spark_jobs.ops.views import Rows  # noqa: PLC0415 - as above

    if answer.rows:
        rows = Rows(answer.columns, tuple(tuple(map(exact, row)) for row in answer.rows))
        layout = as_table(rows, terminal_width(), datetime.now(UTC), chosen=False)
        yield from (line.rstrip() for line in layout.lines)
        if layout.left_out:
            yield f"no room for {', '.join(layout.left_out)}"
        yield ""
    some = "" if answer.open_rows == answer.row_count else f"{answer.open_rows:,} "
    open_ = f", {some}of windows that are open yet" if answer.open_rows else ""
    yield f"{sampled:,} records, {answer.row_count:,} rows{open_}"
    told = {"accepted": answer.counts["accepted"]} | answer.counts
    yield ", ".join(f"{name} {n:,}" for name, n in told.items() if n or name == "accepted")
    for each in answer.rejected:
        place = f"partition {each.partition}, offset {each.offset}"
        yield f"  {each.records:,} {each.kind}: {each.reason} ({place})"
    if answer.late:
        shares = (f"{share:.1%} with {delay}" for delay, share in answer.late.items())
        yield f"late, by the watermark's delay: {', '.join(shares)}"
    if answer.state_rows:
        yield f"state: {answer.state_rows:,} rows, {answer.state_bytes:,} bytes"
    yield f"{answer.seconds:.1f} s of runs; nothing was written"
