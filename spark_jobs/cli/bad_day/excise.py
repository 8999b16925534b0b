"""The command that takes records of a topic out of all pipelines that read it."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.carry_out import Asked, carry_out, run_id
from spark_jobs.cli.repair import MOST, PANEL, From, MostRecords, To, WithoutLost, Yes
from spark_jobs.cli.terminal import (
    Execute,
    end_undone,
    examples,
    installation,
    say,
    say_error,
    with_spark,
)
from spark_jobs.errors import DecisionRefused, RangeUnsupported, SluiceError
from spark_jobs.messages import log
from spark_jobs.messages.request import parse_instant
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import log_format
from spark_jobs.spec import Topic
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.live_place import rebuilt
from spark_jobs.values.spans import LAST, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.excise.look import Reader, Wanted
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice excise --topic orders --where \"header['version'] = '2.3'\" \\",
        "    --from 2026-03-01T08:00Z --reason 'release 2.3 sent cents'  # dry run",
        "sluice excise --topic orders --execute  # goes on with what is noted",
    ),
)
def excise(  # noqa: PLR0913, PLR0917 - each is an option
    topic: Annotated[str, typer.Option(metavar="TOPIC", help="The topic of the records.")],
    where: Annotated[
        str,
        typer.Option(
            metavar="SQL",
            help="Spark SQL over the topic's fields, header['NAME'], key, timestamp, partition and "
            "offset. Without it: what is noted, and not done everywhere.",
        ),
    ] = "",
    start: From = None,
    end: To = None,
    reason: Annotated[
        str, typer.Option(help="Why. It is in ops.quarantine, and `sluice replay` finds it there.")
    ] = "",
    most_records: MostRecords = MOST,
    without_lost: WithoutLost = False,
    lift: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Refuse the records of this excision no more. What is in ops.quarantine waits for "
            "a replay.",
        ),
    ] = "",
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Take records out of every pipeline of a topic, as of a producer's bad release.

    They go to ops.quarantine, and the rows that they touched are computed again. It takes what
    Kafka and archives have now, also what is still to be drained. What comes later, a rule of the
    topic refuses.
    """
    where = where.strip()
    if bool(where) != bool(start) or (lift and where):
        raise typer.BadParameter("give --where with --from, or --lift, or neither")
    log.setup(log_format())
    span, ends = _span(start, end), list[int]()
    with with_spark():
        from spark_jobs.excise.look import Wanted  # noqa: PLC0415 - Delta, which the help does not need

        place, roots = _readers(topic, specs := _specs(ends), ends)
        who = getpass.getuser()
        wanted = Wanted(place, where, span, reason, who, most_records) if span else None
        left = [
            _ended(lift, place, of, execute=execute)
            if lift
            else _noted(of, place, wanted, specs, execute=execute)
            for of in roots
        ]
    if execute:
        asked = Asked((None, None), reason, most_records, without_lost, approve="always")
        _taken_over([each for of in roots for each in of], None if lift else asked, ends, yes=yes)
    elif any(left):
        end_undone()
    if failed := [code for code in ends if code]:
        raise typer.Exit(failed[0])


def _taken_over(
    readers: Sequence[Reader], asked: Asked | None, ends: list[int], *, yes: bool
) -> None:
    """Let each pipeline take over what is noted; where something is `asked`, compute again what has
    excised records. One after the other: an error, or a No, of one keeps no other from it. `ends`
    gets their exit statuses.
    """
    from spark_jobs.excise.adopt import taken_over  # noqa: PLC0415 - as above
    from spark_jobs.repair.unit.unit import unit_of  # noqa: PLC0415 - as above

    for each in readers:
        try:
            with with_spark():
                some = taken_over(each.spec, each.paths, run_id("excise"))
                if asked and some and unit_of(each.spec).unranged:
                    raise RangeUnsupported.excised_stay(pipeline=each.name)
            if asked and some:
                # Nobody reads NEXT's table: the switch to it is what asks.
                answers = yes or each.beside
                name, beside = each.spec.name, each.beside
                carry_out("excise", name, asked, yes=answers, execute=True, beside=beside)
        except typer.Exit as end:
            ends.append(end.exit_code)


def _specs(ends: list[int]) -> list[Pipeline]:
    """Of all pipelines. One that does not load is told: it may read the topic, and then its next
    run takes over what is noted. `ends` gets its exit status.
    """
    specs = []
    for each in registry.names():
        try:
            specs.append(registry.load(each))
        except SluiceError as error:
            say_error(error)
            ends.append(error.exit_status)
    return specs


def _readers(
    name: str, specs: Sequence[Pipeline], ends: list[int]
) -> tuple[str, list[list[Reader]]]:
    """The topic with its cluster, and its pipelines by their roots, as `_specs` has them: also one
    of which no spec drains, or whose NEXT is lost, is told.
    """
    from spark_jobs.excise.look import Reader  # noqa: PLC0415 - as above

    topics = [each for spec in specs for each in spec.inputs]
    places = dict.fromkeys(each.place for each in topics if each.source == Topic.source)
    named = [each for each in places if name in {each, each.rpartition("/")[2]}]
    if len(named) != 1:
        there = ", ".join(sorted(named or places))
        why = f"it is not one of {there}"
        if any(each.place == name for each in topics) and not named:
            why = f"{name} is no topic of Kafka. `sluice quarantine` takes records by their places"
        raise typer.BadParameter(why, param_hint="--topic")
    found: dict[str, list[Reader]] = {}
    for spec in specs:
        if any((each.place, each.source) == (named[0], Topic.source) for each in spec.inputs):
            settings = installation(spec)._replace(next="off")
            try:
                live = Reader(live_spec(spec, settings.root, about=False), settings)
                found.setdefault(settings.root, []).append(live)
                if rebuilt(live.paths.above):
                    following = live_spec(spec, settings.root, about=True)
                    found[settings.root].append(Reader(following, settings._replace(next="on")))
            except SluiceError as error:
                say_error(error)
                ends.append(error.exit_status)
    return named[0], [*found.values()]


def _span(start: str | None, end: str | None) -> Span | None:
    if start is None:
        return None
    try:
        span = Span(parse_instant(start), parse_instant(end) if end else LAST)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--from, --to") from None
    if span.empty:
        raise typer.BadParameter("it is not after --from", param_hint="--to")
    return span


def _noted(
    readers: list[Reader],
    place: str,
    wanted: Wanted | None,
    specs: Sequence[Pipeline],
    *,
    execute: bool,
) -> bool:
    """Show what there is to do, and note what is new if `execute`. Whether there is something."""
    from spark_jobs.excise.look import look  # noqa: PLC0415 - as above
    from spark_jobs.excise.note import excisions, keep  # noqa: PLC0415 - as above
    from spark_jobs.excise.told import told  # noqa: PLC0415 - as above
    from spark_jobs.launch.question import Failed  # noqa: PLC0415 - as above

    root, new = readers[0].paths.root, None
    shown = excisions(root, place)
    for each in shown:
        say(f"excision {each.id}: {each.records:,} records of {place}: {each.reason}")
    if wanted:
        try:
            new, lines = look(readers, wanted)
        except Failed as failed:
            raise typer.Exit(failed.status) from None
        for line in lines:
            say(line)
        shown = [new] if new else []
    elif not shown:
        say(f"{place}: no excision is noted")
    for line in told(readers, shown, specs):
        say(line)
    if new and execute:
        if not new.reason:
            raise DecisionRefused.excision_unexplained()
        require_writable(readers[0].paths)
        keep(root, new)
        say(f"noted: excision {new.id}")
    return bool(shown)


def _ended(excision_id: str, place: str, readers: list[Reader], *, execute: bool) -> bool:
    """Let it end if `execute`."""
    from spark_jobs.checkpoint.notes.failing import read_failing  # noqa: PLC0415 - as above
    from spark_jobs.excise.note import end, file_of  # noqa: PLC0415 - as above

    root = readers[0].paths.root
    taken = (each for of in readers for each in read_failing(of.paths.failing).excised)
    if not (file_of(root, place, excision_id).exists() or excision_id in {e.id for e in taken}):
        raise DecisionRefused.excision_unknown(excision=excision_id)
    names = ", ".join(each.name for each in readers)
    say(f"{names}: refuse the records of excision {excision_id} no more")
    if execute:
        end(root, place, excision_id, getpass.getuser())
        say("`sluice replay --reason` brings in what is in ops.quarantine")
    return True
