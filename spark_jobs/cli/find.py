"""The command that finds every place that holds a record or its values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.cli.terminal import examples, one_line_errors, require_readable
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import every_root
from spark_jobs.storage.root.store import opened

if TYPE_CHECKING:
    from spark_jobs.census.census import Answer
    from spark_jobs.census.rows import Condition
    from spark_jobs.spec import Topic

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Inspect"
NOT_OURS = (
    "Kafka keeps the record until its topic's retention, or for ever if it is compacted",
    "not looked at: backups, event logs of Spark, Airflow's logs and database, copies of consumers",
    "not read: state that Spark encodes as Avro, and values that a step computed anew",
)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        'sluice find --topic orders --where "customer_id = 17"',
        "sluice find --topic orders --where \"email LIKE 'ann@%'\" --json",
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
    as_json: Annotated[bool, typer.Option("--json", help="One object for each root.")] = False,
) -> None:
    """Find every place that holds a record or its values. Deletes nothing.

    Opens every file of each root: tables with older versions, statistics in Delta's logs, change
    feed, rejected records, archive, staging, state, reports. Where no condition can be asked, it
    looks for the condition's texts and numbers, and for the values of the rows that it holds for.

    It tells counts and places, never a value. Counts may be too high: 17 may be another column's.
    """
    from spark_jobs.census.census import Census  # noqa: PLC0415 - pyarrow, which the help does not need

    if bool(text) == bool(where) or bool(topic) != bool(where):
        raise typer.BadParameter("give --topic with --where, or --bytes alone")
    with one_line_errors():
        for where_is in every_root():
            require_readable(where_is)
            condition = _condition(topic, where, where_is) if where else None
            found = Census(opened(where_is), condition, text).answer()
            for line in _as_json(where_is, found) if as_json else _told(where_is, found):
                typer.echo(line)


def _condition(name: str, where: str, root: str) -> Condition:
    from spark_jobs.census.rows import Condition  # noqa: PLC0415 - as above
    from spark_jobs.decode.record_decoder import prepare  # noqa: PLC0415 - as above

    found = Condition(where, prepare(_topic(name), root, None))
    try:
        found.check()
    except Exception as error:  # noqa: BLE001 - DataFusion's errors have no common class
        raise typer.BadParameter(str(error), param_hint="--where") from None
    return found


def _topic(name: str) -> Topic:
    topics = [each for spec in registry.load_all() for each in spec.inputs]
    for each in topics:
        if name in (each.name, each.place):
            return each
    there = ", ".join(sorted({each.place for each in topics}))
    raise typer.BadParameter(f"no pipeline reads {name!r}; there are {there}", param_hint="--topic")


def _told(root: str, answer: Answer) -> list[str]:
    return [
        f"{root}: {answer.opened:,} files",
        *(
            f"  {each.entries:,} in {each.place} ({each.kind}, {each.files:,} files): {each.stays}"
            for each in answer.found
        ),
        *([] if answer.found else ["  nothing found"]),
        *(f"  not read: {each}" for each in answer.unread),
        *(f"  {each}" for each in NOT_OURS),
    ]


def _as_json(root: str, answer: Answer) -> list[str]:
    found = [each._asdict() for each in answer.found]
    told = {"root": root, "files": answer.opened, "found": found, "unread": answer.unread}
    return [json.dumps(told | {"not_ours": NOT_OURS})]
