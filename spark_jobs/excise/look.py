"""Look: the excision that a condition comes to, before it is noted. Needs no Spark: an application
of Spark is asked which records it holds for, as `sluice where --key` asks.

What a pipeline's slices say not to have the event times is not read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spark_jobs.checkpoint.notes.excised import FAR, Places, text_of
from spark_jobs.errors import DecisionRefused, RangeInvalid, SluiceError
from spark_jobs.excise.note import Excision, clock_of, excisions, slots_of
from spark_jobs.launch.question import Failed
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why
from spark_jobs.repair.offsets.slices import Index, in_few, less, together
from spark_jobs.settings.checked import FOREVER
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.positions import parts_of
from spark_jobs.source.sources import BETWEEN, source_of
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.spec.sql import names_in
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import by_input
from spark_jobs.values.spans import LAST, Position, Span
from spark_jobs.where.ask import AT, Answer, Question, ask as ask_application
from spark_jobs.where.kept import Kept, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic

MOST: Final = 1_000_000
"""Records of one excision: each pipeline has their offsets in memory."""
Ask: TypeAlias = "Callable[[str, Settings, Question], Answer]"
"""Asks Spark, by the name of a pipeline."""
Say: TypeAlias = "Callable[[str], object]"
"""Takes a line for a person."""


class Reader(NamedTuple):
    """A pipeline that reads the topic."""

    spec: Pipeline
    settings: Settings

    @property
    def paths(self) -> Paths:
        return Paths(self.settings.root, self.spec)

    @property
    def name(self) -> str:
        """For a person."""
        return f"NEXT of {self.spec.name}" if self.paths.place.beside else self.spec.name


def look(
    readers: Sequence[Reader], wanted: Excision, most: int, say: Say, ask: Ask = ask_application
) -> Excision | None:
    """With the records that Kafka and archives have now, but those that an excision has; None
    without any. By one of the pipelines of a root: the first whose declaration of the topic has
    what the condition names. `say` gets the counts.

    Raises DecisionRefused for a condition that Spark refuses, too many records, or where each
    declaration takes values apart; RangeInvalid for more than `most` to read; Failed; and what
    Kafka refuses.
    """
    root, name, where = readers[0].paths.root, wanted.topic, wanted.where
    # A value that one of them has whole goes as a whole.
    apart = len({each.spec.inputs.of_place(name).each for each in readers}) > 1
    tried, refused = list["Topic"](), DecisionRefused.elements_excised(topic=name)
    for reader in sorted(readers, key=lambda each: len(each.spec.inputs)):
        topic = reader.spec.inputs.of_place(name)
        if topic in tried or (topic.each and apart):
            continue
        tried.append(topic)
        state = source_of(archive_spec(topic, Archive()), reader.settings).state()
        parts, gone = _parts(state, topic, readers, wanted)
        if (read := offsets_in(parts)) > most:
            raise RangeInvalid.too_many_records(pipeline=name, offsets=read, most_records=most)
        question = Question(
            topic=name, topic_id=state.id, beside=parts, earliest=state.earliest,
            key=where, start=wanted.start, end=wanted.end, most=MOST + 1,
        )  # fmt: skip
        try:
            told = ask(reader.spec.name, reader.settings, question)
            break
        except Failed as failed:
            if not failed.why:
                raise
            refused = DecisionRefused.condition_refused(where=where, topic=name, why=failed.why)
    else:
        raise refused
    columns = (told.table[each].to_pylist() for each in (*PLACE, AT))
    found = [(Place(*place), at) for *place, at in zip(*columns, strict=True)]
    if len(found) > MOST or any(place.element >= FAR for place, _ in found):
        raise DecisionRefused.too_many_excised(most=MOST)
    known = [Places.told(of.places) for of in excisions(root, name) if of.topic_id == state.id]
    new = [(place, at) for place, at in found if not any(place in each for each in known)]
    for line in _lines(wanted, told.counts, len(found), len(found) - len(new), gone):
        say(line)
    personal = {each for of in readers for each in of.spec.inputs.personal}
    update = {
        # A note outlives what it is about.
        "where": "" if personal & {*names_in(where)} else where,
        "topic_id": state.id,
        "records": len(new),
        "places": text_of(place for place, _ in new),
        "slots": slots_of(at for _, at in new),
        "each": topic.each or "",
        "clock": clock_of(topic),
    }
    return wanted.model_copy(update=update) if new else None


def _lines(
    wanted: Excision, told: dict[str, Any], found: int, again: int, gone: int
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
        yield f"  known           {again:,} are excised already; `sluice undo` takes a replay back"


def _parts(
    state: SourceState, topic: Topic, readers: Sequence[Reader], wanted: Excision
) -> tuple[Parts, int]:
    """The offsets that are asked, and how many nobody has."""
    has, _ = archived_or_why(readers[0].paths.root, Topics([topic]), state.id)
    there = every = together((state.earliest.parts(state.latest), has))
    gone: Parts = {}
    for each in readers:
        if clock_of(each.spec.inputs.of_place(topic.place)) == clock_of(topic):  # else other times
            with suppress(SluiceError):  # a damaged checkpoint tells of no record
                span = Span(wanted.start, wanted.end)
                others, such = _drained(each, (topic.place, state.id), span)
                there, gone = less(there, others), together((gone, less(such, every)))
    return in_few(there), offsets_in(gone)


def _drained(reader: Reader, of: tuple[str, str], span: Span) -> tuple[Parts, Parts]:
    """What this pipeline has drained of the topic, by its name and id: the offsets of which it
    knows that no record has these event times, and those that may have some. The rest is in doubt.
    """
    spec, paths = reader.spec, reader.paths
    if (known := Known.read(paths, spec)) is None:
        return {}, {}
    index = Index.read(paths, known.identity.generations, known.begins, known.end(known.audited))
    # A slice has no times of late and quarantined records. These others may have taken, and a
    # replay may bring them in.
    late = f"{known.own} AND ({Position('event_time').sql([span])})"
    found = index.possible([span])
    for table, among in (("late", late), ("quarantine", known.own)):
        sql = f'SELECT DISTINCT "partition", "offset" FROM {table} WHERE {among}'
        rows = ops_tables.query(paths.root, table, sql).to_pylist()
        found = together((found, parts_of(map(Place.of_row, rows))))
    drained: Parts = {p: (part,) for p, part in index.within.items()}
    # They may have expired: where a batch has not all of its own, or an account that counts them.
    # It leaves no doubt where it rejected late records alone, and all of them before these times.
    batches, whole = known.batches, Kept.read(known, {}).whole(known.batches)
    late_alone = (each for each in batches if each.none("malformed", "premature"))
    whole |= {each.id for each in late_alone if (each.late_before or LAST) < span.start}
    sure = (each for each in batches if each.id in whole)
    counted, settled = (together(b.start.parts(b.end) for b in some) for some in (batches, sure))
    doubt = less(counted if reader.settings.rejected_days == FOREVER else drained, settled)
    inputs = enumerate(zip(spec.inputs, known.identity.topic_id.split(BETWEEN), strict=False))
    number = next((n for n, (topic, id_) in inputs if (topic.place, id_) == of), -1)
    all_, such, unsure = (by_input(each).get(number, {}) for each in (drained, found, doubt))
    return less(all_, together((such, unsure))), such
