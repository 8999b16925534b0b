"""New: the excision that a condition comes to, before it is noted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.notes.excised import offsets_of, text_of
from spark_jobs.errors import DecisionRefused
from spark_jobs.excise.note import Excision, excisions, slots_of
from spark_jobs.excise.question import Ask, Found, ask_application, find, topic_of
from spark_jobs.repair.find.plan import new_id
from spark_jobs.spec.sql import names_in
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.excise.note import Record
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.values.spans import Span


class Reader(NamedTuple):
    """A pipeline that reads the topic."""

    spec: Pipeline
    settings: Settings

    @property
    def paths(self) -> Paths:
        return Paths(self.settings.root, self.spec)


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
    """Find the records, by one of the pipelines of a root. Raises what `find` does."""
    found = _found(readers, wanted, ask)
    noted = [
        each
        for each in excisions(readers[0].paths.root, wanted.topic)
        if each.topic_id == found.topic_id
    ]
    records = [*_new(found.records, noted)]
    lines = tuple(_lines(wanted, found, len(records)))
    if not records:
        return Looked(None, lines)
    personal = {name for each in readers for name in each.spec.inputs.personal}
    excision = Excision(
        id=new_id(),
        topic=wanted.topic,
        topic_id=found.topic_id,
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
        clock=found.clock,
    )
    return Looked(excision, lines)


def _found(readers: Sequence[Reader], wanted: Wanted, ask: Ask) -> Found:
    """By the first declaration of the topic that has what the condition names: others may lack a
    field. Raises DecisionRefused if each of them takes values apart.
    """
    tried, refused = [], None
    for spec, settings in sorted(readers, key=lambda each: len(each.spec.inputs)):
        topic = topic_of(spec, wanted.topic)
        if topic in tried or topic.each:  # an offset has several records then
            continue
        tried.append(topic)
        try:
            every = [each.spec for each in readers]
            asked = (wanted.topic, wanted.where, wanted.span, wanted.most_records)
            return find(spec, every, settings, *asked, ask)
        except DecisionRefused as error:
            refused = refused or error
            if error.reason != "condition_refused":
                raise
    raise refused or DecisionRefused.elements_excised(topic=wanted.topic)


def _new(records: Sequence[Record], noted: Sequence[Excision]) -> Iterator[Record]:
    """Those that no excision has."""
    known = [{p: offsets_of(text) for p, text in each.places.items()} for each in noted]
    for each in records:
        p, offset = each.place[:2]
        if not any(p in of and of[p].has(offset) for of in known):
            yield each


def _lines(wanted: Wanted, found: Found, new: int) -> Iterator[str]:
    told, again = found.told, len(found.records) - new
    yield f"{wanted.topic}: {len(found.records):,} records fulfil the condition"
    yield f"  read            {told.read:,} records that Kafka and archives have now"
    if told.undecoded:
        yield f"  not asked       {told.undecoded:,} that do not decode: no row has them"
    if told.headerless and "header" in wanted.where:
        yield f"  not asked       {told.headerless:,} of which an archive has no headers"
    if told.fails and told.first:
        first = "partition {} offset {}".format(*told.first)
        yield f"  not excised     {told.fails:,} on which the condition fails, first {first}"
    if again:
        yield f"  known           {again:,} are excised already. What a replay has brought back is"
        yield "                  taken out by its `sluice undo`"
