"""Commands that look for records: what became of one, and every place that holds a value."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.formats import Format, as_csv, as_json, as_table, plain
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    installation,
    one_line_errors,
    require_readable,
    say,
    takes_next,
    terminal_width,
    topic_named,
    with_spark,
)
from spark_jobs.errors import SluiceError
from spark_jobs.messages import log
from spark_jobs.ops.views import Rows
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.settings.roots import every_root
from spark_jobs.source.sources import source_of
from spark_jobs.storage.root.store import opened
from spark_jobs.values.times import iso

if TYPE_CHECKING:
    from spark_jobs.census.census import Answer
    from spark_jobs.census.content import Condition
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.where.fate import Fate

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Inspect"
SAID_SECONDS = 3.0
"""From one line of progress to the next."""
NOT_OURS = (
    "not looked at: backups, event logs of Spark, Airflow's logs and database, copies of "
    "consumers, reports of a root in a store on the machines of its runs",
    "not read: state that Spark encodes as Avro, and values that a step computed anew",
)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        'sluice find --topic orders --where "customer_id = 17"',
        "sluice find --topic orders --where \"email LIKE 'ann@%'\" --format json",
        "sluice find --bytes ann@example.org  # in every file, decompressed",
    ),
)
def find(
    topic: Annotated[str, typer.Option(metavar="TOPIC", help="The topic of --where.")] = "",
    where: Annotated[
        str,
        typer.Option(
            metavar="SQL",
            help="A condition over the decoded fields of the topic, as DataFusion reads it.",
        ),
    ] = "",
    text: Annotated[
        str,
        typer.Option("--bytes", metavar="TEXT", help="Text to find as it is, also within words."),
    ] = "",
    output: Annotated[
        Literal["table", "json"],
        typer.Option("--format", help="table is for people; json has one object a root."),
    ] = "table",
) -> None:
    """Find every place that holds a record or its values. Deletes nothing.

    Opens every file of each root: tables with older versions, statistics in Delta's logs, change
    feed, rejected records, archive, staging, state, reports. Where no condition can be asked, it
    looks for the condition's texts and numbers, and for the values of the rows that it holds for.
    A text is found in each normal form of Unicode, NFC and NFD, whichever is given.

    It tells counts and places, never a value. Counts may be too high: 17 may be another column's.
    """
    from spark_jobs.census.census import Census  # noqa: PLC0415 - pyarrow, which the help does not need

    if bool(text) == bool(where) or bool(topic) != bool(where):
        raise typer.BadParameter("give --topic with --where, or --bytes alone")
    with one_line_errors():
        not_ours = (_in_source(topic), *NOT_OURS)
        for where_is in every_root():
            require_readable(where_is)
            condition = _condition(topic, where, where_is) if where else None
            found = Census(opened(where_is), condition, text).answer(_watched)
            told = _as_json if output == "json" else _told
            for line in told(where_is, found, not_ours):
                typer.echo(line)


def _watched(files: list[str]) -> Iterator[str]:
    """Say on standard error, every few seconds, how many have been opened."""
    said = time.monotonic()
    for number, each in enumerate(files):
        if time.monotonic() - said >= SAID_SECONDS:
            said = time.monotonic()
            typer.echo(f"{number:,} of {len(files):,} files", err=True)
        yield each


def _in_source(name: str) -> str:
    """How long its source keeps a record of the topic, as that says, if it does."""
    if not name:
        return "Kafka keeps the record until its topic's retention, or for ever if it is compacted"
    spec, topic = topic_named(name, registry.load_all())
    try:
        alone = spec.model_copy(update={"topic": topic})
        return source_of(alone, Settings.of(alone)).stays()
    except SluiceError as error:
        return f"nobody said how long {topic.name} keeps the record: {error.what}"


def _condition(name: str, where: str, root: str) -> Condition:
    from spark_jobs.census.content import Condition  # noqa: PLC0415 - as above
    from spark_jobs.decode.record_decoder import prepare  # noqa: PLC0415 - as above

    found = Condition(where, prepare(topic_named(name, registry.load_all())[1], root, None))
    try:
        found.check()
    except Exception as error:  # noqa: BLE001 - DataFusion's errors have no common class
        raise typer.BadParameter(str(error), param_hint="--where") from None
    return found


def _told(root: str, answer: Answer, not_ours: tuple[str, ...]) -> list[str]:
    return [
        f"{root}: {answer.opened:,} files",
        *(
            f"  {each.entries:,} in {each.place} ({each.kind}, {each.files:,} files): {each.stays}"
            for each in answer.found
        ),
        *([] if answer.found else ["  nothing found"]),
        *(f"  not read: {each}" for each in answer.unread),
        *(f"  {each}" for each in not_ours),
    ]


def _as_json(root: str, answer: Answer, not_ours: tuple[str, ...]) -> list[str]:
    found = [each._asdict() for each in answer.found]
    told = {"root": root, "files": answer.opened, "found": found, "unread": answer.unread}
    return [json.dumps(told | {"not_ours": not_ours})]


SHORT = 20
"""More fates are a table."""


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples(
        "sluice where flight_events 0:1207  # partition 0, offset 1207",
        "sluice where flight_events 0:1200-1300,3:17",
        "sluice where orders orders_us/0:44  # of several topics",
        "sluice where logs 0:44:7  # the record 7 of a value with many",
        "sluice where flight_events --key \"event_id = 'UA1545-20130101'\"",
        "sluice where flight_events 0:0-9999 --format json | jq -r .outcome | sort",
    ),
)
@takes_next
def where(
    pipeline: PipelineName,
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PARTITION:OFFSET...",
            help="The records: PARTITION:OFFSET, PARTITION:FIRST-LAST, or several with commas.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="In place of PARTITION:OFFSET: all records that runs have read and for which this "
            "condition over the topic's fields holds. It reads the topic, by Spark, and compares "
            "texts as the pipeline does: letter by letter.",
        ),
    ] = None,
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            help="table is for people; json has one object a record; csv has a header.",
        ),
    ] = Format.table,
) -> None:
    """Tell what became of a record: batch, outcome, reason, rows, version, event, repairs.

    It keeps nothing for this, and asks what is kept already. What cannot be told is said, with the
    reason. Writes nothing.

    Without Spark, but where a Transform decides, or copies are looked for among many records.
    """
    from spark_jobs.decode.pandas_later import without_pandas  # noqa: PLC0415 - as above
    from spark_jobs.launch.question import Failed  # noqa: PLC0415 - as above
    from spark_jobs.where.ask import MOST, ask, places as places_of  # noqa: PLC0415 - Delta, which the help does not need
    from spark_jobs.where.fate import COLUMNS  # noqa: PLC0415 - as above
    from spark_jobs.where.tell import Telling  # noqa: PLC0415 - as above

    if bool(places) == (key is not None):
        raise typer.BadParameter("give either places or --key", param_hint="PARTITION:OFFSET")
    if output is Format.table:  # a worker that begins says so, which is no record's fate
        log.setup(log_format())
    without_pandas()  # a fifth of a second
    with with_spark():
        settings = installation(spec := registry.load(pipeline))
        spec = live_spec(spec, settings.root)
        telling = Telling(spec, settings, lambda question: ask(spec.name, settings, question))
        try:
            if key is not None:
                wanted = telling.by_key(key, MOST)
            else:
                wanted = places_of(spec.inputs, places or ())
            found = telling.fates(wanted)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="PARTITION:OFFSET") from None
        except Failed as failed:
            if failed.why:  # of a condition; of places it is an answer
                raise typer.BadParameter(failed.why, param_hint="--key") from None
            raise
    if output is not Format.table:
        rows = Rows(COLUMNS, tuple(each.values(spec.inputs) for each in found))
        for line in (as_json if output is Format.json else as_csv)(rows):
            typer.echo(line)
        return
    for line in _fates_told(found, spec.inputs):
        say(line.rstrip())


def _fates_told(found: list[Fate], inputs: Topics) -> Iterator[str]:
    from spark_jobs.where.fate import COLUMNS  # noqa: PLC0415 - as above

    if not found:
        yield "no record that a run has read"
        return
    if len(found) <= SHORT:
        for each in found:
            yield from _lines(each, inputs)
        return
    rows = Rows(COLUMNS, tuple(each.values(inputs) for each in found))
    layout = as_table(rows, terminal_width(), datetime.now(UTC), chosen=False)
    yield from layout.lines
    if layout.left_out:
        yield f"no room for {', '.join(layout.left_out)}: --format json has all"


def _lines(fate: Fate, inputs: Topics) -> Iterator[str]:
    from spark_jobs.where.fate import COLUMNS  # noqa: PLC0415 - as above

    told = dict(zip(COLUMNS, fate.values(inputs), strict=True))
    by = "" if fate.batch is None else f", batch {fate.batch}"
    run = f" of run {fate.run_id}" if fate.run_id else ""
    why = f": {fate.why}" if fate.why else ""
    yield f"{told['record']}  {fate.became}{by}{run}{why}"
    told |= {"late_by": fate.late_by, "cannot be told": told.pop("untold")}
    for name in (*COLUMNS[5:-1], "cannot be told"):
        value = told[name]
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                text = iso(each, " ") if isinstance(each, datetime) else each
                row = (
                    json.dumps(plain(each), ensure_ascii=False) if isinstance(each, dict) else text
                )
                yield f"  {name.replace('_', ' ')}: {row}"
