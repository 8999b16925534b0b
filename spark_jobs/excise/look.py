"""Look: the excision that a condition comes to, before it is noted. Needs no Spark: an application
of Spark is asked which records it holds for, as `sluice where --key` asks.

What a pipeline's slices say not to have the event times is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.excised import FAR, Places, text_of
from spark_jobs.errors import DecisionRefused, RangeInvalid, SluiceError
from spark_jobs.excise.note import Excision, Record, clock_of, excisions, slots_of
from spark_jobs.launch.question import Failed
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.find.plan import new_id, offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, beginning
from spark_jobs.repair.offsets.slices import Index, in_few, less, together
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.sources import BETWEEN, source_of
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.spec.sql import names_in
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import by_input
from spark_jobs.values.spans import Position, Span
from spark_jobs.where.ask import AT, Answer, Question, ask as ask_application

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic

MOST: Final = 1_000_000
"""Records of one excision: each pipeline has their offsets in memory."""
Ask = Callable[[str, "Settings", Question], Answer]
"""Asks Spark, by the name of a pipeline."""


class Reader(NamedTuple):
    """A pipeline that reads the topic."""

    spec: Pipeline
    settings: Settings

    @property
    def paths(self) -> Paths:
        return Paths(self.settings.root, self.spec)

    @property
    def beside(self) -> bool:
        """Whether it is NEXT, of a rebuild that is under way."""
        return self.paths.place.beside

    @property
    def name(self) -> str:
        """For a person."""
        return f"NEXT of {self.spec.name}" if self.beside else self.spec.name


class Wanted(NamedTuple):
    """Which records of a topic are to be taken out."""

    topic: str
    """Its name, behind that of its cluster."""
    where: str
    span: Span
    """The event times of the records."""
    reason: str
    who: str
    most_records: int


class Looked(NamedTuple):
    """What was found."""

    excision: Excision | None
    """None without a record that no excision has."""
    lines: tuple[str, ...]


def look(readers: Sequence[Reader], wanted: Wanted, ask: Ask = ask_application) -> Looked:
    """Find the records that Kafka and archives have now, by one of the pipelines of a root: the
    first whose declaration of the topic has what the condition names.

    Raises DecisionRefused for a condition that Spark refuses, too many records, or where each
    declaration takes values apart; RangeInvalid for too many to read; Failed; and what Kafka
    refuses.
    """
    tried, refused = list["Topic"](), None
    # A value that one of them has whole goes as a whole.
    apart = len({each.spec.inputs.of_place(wanted.topic).each for each in readers}) > 1
    for reader in sorted(readers, key=lambda each: len(each.spec.inputs)):
        topic = reader.spec.inputs.of_place(wanted.topic)
        if topic in tried or (topic.each and apart):
            continue
        tried.append(topic)
        try:
            return _looked(reader, readers, wanted, ask)
        except DecisionRefused as error:
            refused = refused or error
            if error.reason != "condition_refused":
                raise
    raise refused or DecisionRefused.elements_excised(topic=wanted.topic)


def _looked(reader: Reader, readers: Sequence[Reader], wanted: Wanted, ask: Ask) -> Looked:
    settings, root = reader.settings, reader.paths.root
    declared = reader.spec.inputs.of_place(wanted.topic)
    state = source_of(archive_spec(declared, Archive()), settings).state()
    has, _ = archived_or_why(root, Topics([declared]), state.id)
    clock, every = clock_of(declared), together((state.earliest.parts(state.latest), has))
    there: Parts = every
    gone: Parts = {}
    for each in readers:
        if clock_of(each.spec.inputs.of_place(wanted.topic)) == clock:  # else of other times
            with suppress(SluiceError):  # a damaged checkpoint tells of no record
                others, such = _drained(each, (wanted.topic, state.id), wanted.span)
                there, gone = less(there, others), together((gone, less(such, every)))
    parts = in_few(there)
    if (offsets := offsets_in(parts)) > wanted.most_records:
        raise RangeInvalid.too_many_records(
            pipeline=wanted.topic, offsets=offsets, most_records=wanted.most_records
        )
    question = Question(
        topic=wanted.topic, topic_id=state.id, beside=parts, earliest=state.earliest,
        key=wanted.where, start=wanted.span.start, end=wanted.span.end, most=MOST + 1,
    )  # fmt: skip
    try:
        told = ask(reader.spec.name, settings, question)
    except Failed as failed:
        if not failed.why:
            raise
        raise DecisionRefused.condition_refused(
            where=wanted.where, topic=wanted.topic, why=failed.why
        ) from None
    columns = (told.table[name].to_pylist() for name in (*PLACE, AT))
    found = [Record(Place(*place), at) for *place, at in zip(*columns, strict=True)]
    if len(found) > MOST or any(each.place.element >= FAR for each in found):
        raise DecisionRefused.too_many_excised(most=MOST)
    noted = [each for each in excisions(root, wanted.topic) if each.topic_id == state.id]
    records = [*_new(found, noted)]
    again = len(found) - len(records)
    lines = tuple(_lines(wanted, told.counts, len(found), again, offsets_in(gone)))
    if not records:
        return Looked(None, lines)
    personal = {name for each in readers for name in each.spec.inputs.personal}
    excision = Excision(
        id=new_id(),
        topic=wanted.topic,
        topic_id=state.id,
        # A note outlives what it is about.
        where="" if personal & {*names_in(wanted.where)} else wanted.where,
        start=wanted.span.start,
        end=wanted.span.end,
        reason=wanted.reason.strip(),
        who=wanted.who,
        at=datetime.now(UTC),
        records=len(records),
        places=text_of(each.place for each in records),
        slots=slots_of(records),
        each=declared.each or "",
        clock=clock,
    )
    return Looked(excision, lines)


def _new(records: Sequence[Record], noted: Sequence[Excision]) -> Iterator[Record]:
    """Those that no excision has."""
    known = [Places.told(each.places) for each in noted]
    return (each for each in records if not any(each.place in places for places in known))


def _lines(
    wanted: Wanted, told: dict[str, Any], found: int, again: int, gone: int
) -> Iterator[str]:
    yield f"{wanted.topic}: {found:,} records fulfil the condition"
    yield f"  read            {told['read']:,} records that Kafka and archives have now"
    if gone:
        yield f"  gone            up to {gone:,} of these times, which nobody has: rows keep them"
    if told["undecoded"]:
        yield f"  not asked       {told['undecoded']:,} that do not decode: no row has them"
    if told["headerless"] and "header" in wanted.where:
        yield f"  not asked       {told['headerless']:,} of which an archive has no headers"
    if told["fails"]:
        first = "partition {} offset {}".format(*told["first"])
        yield f"  not excised     {told['fails']:,} on which the condition fails, first {first}"
    if again:
        yield f"  known           {again:,} are excised already. What a replay has brought back is"
        yield "                  taken out by its `sluice undo`"


def _drained(reader: Reader, of: tuple[str, str], span: Span) -> tuple[Parts, Parts]:
    """What this pipeline has drained of the topic: the records of which it knows that they have not
    these event times, and the others.
    """
    (topic, topic_id), (spec, paths) = of, (reader.spec, reader.paths)
    known, audited = read_identity(paths), read_cursor(paths.cursor).audited
    if known is None or audited < 0:
        return {}, {}
    generations = known.generations
    end = Checkpoint(paths.checkpoint).batch(audited).end
    index = Index.read(paths, generations, beginning(paths, generations), end)
    own = ops_tables.of_checkpoint(spec.name, generations)
    at = Position("event_time").sql([span])
    # A slice has no times of late and quarantined records. These others may have taken, and a
    # replay may bring them in.
    kept: dict[int, list[tuple[int, int]]] = {}
    for table, among in (("late", f"{own} AND ({at})"), ("quarantine", own)):
        sql = f'SELECT DISTINCT "partition", "offset" FROM {table} WHERE {among}'
        for row in ops_tables.query(paths.root, table, sql).to_pylist():
            kept.setdefault(row["partition"], []).append((row["offset"], row["offset"] + 1))
    drained: Parts = {p: (part,) for p, part in index.within.items()}
    wanted = ({p: tuple(sorted(of)) for p, of in kept.items()}, index.overlapping([span]))
    others = drained
    for each in (*wanted, index.lacking):
        others = less(others, each)
    ids = known.topic_id.split(BETWEEN)
    for n, every in by_input(drained).items():
        if n < len(spec.inputs) and (spec.inputs[n].place, ids[n]) == (topic, topic_id):
            without = by_input(others).get(n, {})
            return without, less(every, without)
    return {}, {}
