"""Commands for the days on which a number is wrong: since when, what another delay costs, and a bad
release taken out of all pipelines of its topic.
"""

from __future__ import annotations

import getpass
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.carry_out import Asked, carry_out, run_id
from spark_jobs.cli.formats import as_table
from spark_jobs.cli.repair import MOST, PANEL, From, MostRecords, To, WithoutLost, Yes
from spark_jobs.cli.terminal import (
    Execute,
    PipelineName,
    each_apart,
    end_undone,
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
from spark_jobs.errors import DecisionRefused, RangeUnsupported
from spark_jobs.messages import log
from spark_jobs.messages.request import parse_instant
from spark_jobs.ops.views import Rows
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.settings.roots import root_of
from spark_jobs.spec.duration import parse_duration
from spark_jobs.storage.root.live_place import rebuilt
from spark_jobs.values.spans import FIRST, LAST, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from spark_jobs.excise.look import Reader
    from spark_jobs.spec import Pipeline

commands = typer.Typer(rich_markup_mode="rich")


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples(
        'sluice bisect departure_delays "flights < 0"  # a row that must not be there',
        'sluice bisect departure_delays "sum(flights) > 900" --key "carrier = \'UA\'"',
        'sluice bisect flight_events "count(*) > count(DISTINCT event_id)"  # copies',
        'sluice bisect departure_delays "flights < 0" --right 120  # it was right there',
    ),
)
@takes_next
def bisect(
    pipeline: PipelineName,
    condition: Annotated[
        str, typer.Argument(metavar="SQL", help="What is wrong, as DataFusion reads it.")
    ],
    key: Annotated[
        str, typer.Option(metavar="SQL", help="Look at the rows alone for which this is true.")
    ] = "true",
    right: Annotated[
        int | None, typer.Option(help="A version that was right. Default: the oldest that is kept.")
    ] = None,
    wrong: Annotated[
        int | None, typer.Option(help="A version that is wrong. Default: the newest.")
    ] = None,
) -> None:
    """Tell since when a table is wrong: the commit, and the run, batch or repair that made it.

    Write what is wrong, of one row at least, or by aggregates of all rows. It must be true now: the
    command asks the versions that are kept, by halves. A condition that came and went is told with
    each change that it met. Versions that VACUUM has taken are named, not guessed. Writes nothing.

    Without Spark. Each version that is asked is one read of the table.
    """
    from spark_jobs.since.tell import lines, told  # noqa: PLC0415 - Delta, which the help does not need

    if right is not None and wrong is not None and right >= wrong:
        raise typer.BadParameter("it is not before --wrong", param_hint="--right")
    with one_line_errors():
        require_readable(root := root_of(spec := registry.load(pipeline)))
        said = partial(typer.echo, err=True)
        for line in lines(told(live_spec(spec, root), root, condition, key, right, wrong, said)):
            say(line)


@commands.command(
    rich_help_panel="Inspect",
    epilog=examples(
        "sluice tune departure_delays",
        "sluice tune departure_delays --delay '45 minutes' --days 14",
        "sluice tune departure_delays --exact  # reads records: no bounds",
    ),
)
@takes_next
def tune(
    pipeline: PipelineName,
    delay: Annotated[
        list[str] | None,
        typer.Option(metavar="DURATION", help="A delay to price. Default: nine about the present."),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(help="Only the batches of so many days. Default: all.", min=1, max=36_525),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Read the records again whose event times decide.")
    ] = False,
) -> None:
    """Show what other watermark delays would cost: late records, state, the wait for a window.

    A longer delay has fewer late records, more state, and windows that are final later. The numbers
    are those of the batches that were: of longer delays exact, of shorter ones bounds, unless
    --exact reads the records between. Writes nothing.

    Without Spark, but for --exact where a Transform decides what enters.
    """
    from spark_jobs.tune.tell import COLUMNS, cells, told  # noqa: PLC0415 - as above
    from spark_jobs.where.ask import ask  # noqa: PLC0415 - as above

    try:
        delays = [parse_duration(each) for each in delay or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--delay") from None
    now = datetime.now(UTC)
    with one_line_errors():
        of, reads = (spec := registry.load(pipeline)).inputs, exact and spec.inputs.of_kafka
        settings = Settings.from_environment(cluster=of.cluster, root=spec.root, reads=reads)
        require_readable(settings.root)
        spec = live_spec(spec, settings.root)
        since = None if days is None else now - timedelta(days=days)
        asking = partial(ask, spec.name, settings) if exact else None
        answer = told(spec, settings, delays, since, asking)
    layout = as_table(Rows(COLUMNS, (*cells(answer),)), terminal_width(), now, chosen=True)
    for line in (*answer.head, "", *layout.lines, "", *answer.notes):
        say(line.rstrip())


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
        str, typer.Option(metavar="SQL", help="Which records. Without it: what is noted goes on.")
    ] = "",
    start: From = None,
    end: To = None,
    reason: Annotated[str, typer.Option(help="Why. `sluice replay` finds the records by it.")] = "",
    most_records: MostRecords = MOST,
    without_lost: WithoutLost = False,
    lift: Annotated[
        str, typer.Option(metavar="ID", help="Refuse the records of this excision no more.")
    ] = "",
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Take records out of every pipeline of a topic, as of a producer's bad release.

    They go to ops.quarantine, where they wait for a replay, and the rows that they touched are
    computed again. It takes what Kafka and archives have now, also what is still to be drained.
    What comes later, a rule of the topic refuses.

    SQL is Spark's, over the topic's fields, header['NAME'], key, timestamp, partition and offset.
    """
    where, reason = where.strip(), reason.strip()
    if bool(where) != bool(start) or (end and not where) or (lift and where):
        raise typer.BadParameter("give --where with --from, or --lift, or neither")
    log.setup(log_format())
    span, left = _span(start, end), False
    with with_spark(), each_apart() as apart:
        from spark_jobs.excise.note import Excision  # noqa: PLC0415 - Delta, which the help does not need
        from spark_jobs.excise.told import lifted, noted  # noqa: PLC0415 - as above
        from spark_jobs.repair.find.plan import new_id  # noqa: PLC0415 - as above

        if where and execute and not reason:
            raise DecisionRefused.excision_unexplained()
        specs = []
        for each in registry.names():
            with apart():
                specs.append(registry.load(each))
        place = (found := topic_named(topic, specs)[1]).place
        if not found.of_kafka:
            why = "it is no topic of Kafka. `sluice quarantine` takes records by their places"
            raise typer.BadParameter(why, param_hint="--topic")
        wanted = Excision(
            id=lift or new_id(), topic=place, where=where, start=span.start, end=span.end,
            reason=reason, who=getpass.getuser(), at=datetime.now(UTC),
            topic_id="", records=0, places={}, slots=(),
        )  # fmt: skip
        roots = _readers(place, specs, apart)
        for of in roots:
            if not lift:
                left |= noted(of, specs, wanted, most_records, say, execute=execute)
                continue
            with apart():
                left |= lifted(of, wanted, say, execute=execute)
        if left and not execute:
            end_undone()
        asked = Asked((None, None), reason, most_records, without_lost, approve="always")
        for reader in chain(*roots) if execute and (left or not lift) else ():
            with apart():
                _carry_out(reader, None if lift else asked, yes=yes)
    if lift and roots and not left:
        with one_line_errors():  # behind `each_apart`: a root that failed may have it
            raise DecisionRefused.excision_unknown(excision=lift)


def _carry_out(of: Reader, asked: Asked | None, *, yes: bool) -> None:
    """Let a pipeline take over what is noted, and compute again what is `asked`."""
    from spark_jobs.excise.adopt import taken_over  # noqa: PLC0415 - as above
    from spark_jobs.repair.unit.unit import unit_of  # noqa: PLC0415 - as above

    if taken_over(of.spec, of.paths, run_id("excise")) and asked:
        if unit_of(of.spec).unranged:
            raise RangeUnsupported.excised_stay(pipeline=of.name)
        beside = of.paths.place.beside  # nobody reads its table: the switch to it is what asks
        carry_out("excise", of.spec.name, asked, yes=yes or beside, execute=True, beside=beside)


def _readers(
    place: str, specs: Sequence[Pipeline], apart: Callable[[], AbstractContextManager[None]]
) -> list[list[Reader]]:
    """The topic's pipelines by their roots, each with its NEXT behind it. One that no spec drains,
    or whose NEXT is lost, is told.
    """
    from spark_jobs.excise.look import Reader  # noqa: PLC0415 - as above

    found = defaultdict[str, list[Reader]](list)
    reading = (of for of in specs if place in {each.place for each in of.inputs if each.of_kafka})
    for spec in reading:
        with apart():
            settings = installation(spec)._replace(next="off")
            live = Reader(live_spec(spec, settings.root, about=False), settings)
            found[settings.root].append(live)
            if rebuilt(live.paths.above):
                following = live_spec(spec, settings.root, about=True)
                found[settings.root].append(Reader(following, settings._replace(next="on")))
    return [*found.values()]


def _span(start: str | None, end: str | None) -> Span:
    try:
        span = Span(parse_instant(start or FIRST), parse_instant(end or LAST))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--from, --to") from None
    if span.empty:
        raise typer.BadParameter("it is not after --from", param_hint="--to")
    return span
