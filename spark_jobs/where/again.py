"""Again: reads the records of a checkpoint once more, where they are now."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import pyarrow as pa

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.decode.formats import taken_apart
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import records
from spark_jobs.errors import DecisionRefused, SideGone, SluiceError
from spark_jobs.launch.question import Failed
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.repair.offsets.slices import in_few, less, together
from spark_jobs.side.pins import inputs_of
from spark_jobs.source.place import WHOLE, Place
from spark_jobs.source.positions import Positions, parts_of
from spark_jobs.source.sources import same_topics, source_of
from spark_jobs.spec.inputs import COLUMN
from spark_jobs.values.own_columns import EMPTY
from spark_jobs.where.ask import DROPPED, MOST, Answer, Question, Seen, alike, deduplicates, values
from spark_jobs.where.kept import Kept

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Sampled, Source, SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.kept import Accounted, Known

MOST_HERE: Final = 50_000
"""Offsets that are read without Spark: a second or two. A cold Spark takes ten."""
Ask = Callable[[Question], Answer]
"""What Spark says (ask.py)."""


class Reader(NamedTuple):
    """Where the records of a checkpoint can be read: in Kafka, and in archives."""

    spec: Pipeline
    settings: Settings
    known: Known
    ask: Ask
    topic: SourceState | None
    why_not: str
    """Why the topic cannot be asked."""
    has: Parts
    """What archives have."""

    @classmethod
    def of(cls, spec: Pipeline, settings: Settings, known: Known, ask: Ask) -> Self:
        topic_id, why = known.identity.topic_id, ""
        topic: SourceState | None = None
        try:
            topic = source_of(spec, settings).state()
        except SluiceError as error:  # what is kept has some answers
            why = f"the source did not answer: {error.what}"
        if topic is not None and not same_topics(topic_id, topic.id):
            topic, why = None, "the topic was made anew: its records are others"
        has, _ = archived_or_why(known.paths.root, spec.inputs, topic_id)
        return cls(spec, settings, known, ask, topic, why, has)

    @property
    def earliest(self) -> Positions:
        """At the first records that Kafka has; of no topic behind all."""
        if self.topic is not None:
            return self.topic.earliest
        return Positions(dict.fromkeys(self.known.end(self.known.audited).partitions, 2**63 - 1))

    @property
    def source(self) -> Source:
        return source_of(self.spec, self.settings)

    def nowhere(self, parts: Parts) -> Parts:
        """What of them nobody has any more."""
        found = located(parts, self.has, self.earliest)
        return together([found.nowhere, self.source.taken(found.source) if self.topic else {}])

    def pins(self, batch: Accounted) -> str | None:
        """The versions of the tables beside the stream that the batch read; None if one is gone."""
        checkpoint = Checkpoint(self.known.paths.checkpoint)
        try:
            return repr(inputs_of(batch.id, checkpoint, self.spec, self.settings))
        except SideGone:
            return None

    def seen(self, asked: Mapping[Place, Accounted], beside: Parts) -> dict[Place, Seen]:
        """The asked ones, and the records beside that are copies of one. By the client, or by Spark
        where only its SQL can say what the steps make of them, or there are many. Raises Failed.
        """
        own = parts_of(asked)
        here = in_few(together([own, beside]))
        there = located(here, {}, self.earliest).source
        gone = located(self.earliest.cut(here), self.has, self.earliest)
        away = located(own, self.has, self.earliest).archive or gone.archive
        if not (away or offsets_in(there) > MOST_HERE or self._needs_sql(here)):
            root, sample = str(self.known.paths.root), [*_sampled(self.source, there)]
            step = deduplicates(self.spec) if beside else None
            return decoded(self.spec, self.settings, root, sample, asked, step)
        groups: dict[str | None, dict[Place, Accounted]] = defaultdict(dict)
        for place, batch in asked.items():
            groups[self.pins(batch) if self.spec.sides else None][place] = batch
        by_batch = {max(each.id for each in of.values()): parts_of(of) for of in groups.values()}
        aside, others = Kept.read(self.known, here).aside, less(beside, own)
        at = {"topic_id": self.known.identity.topic_id, "earliest": self.earliest}
        return self.ask(Question(asked=by_batch, beside=others, aside=aside, **at)).seen

    def _needs_sql(self, parts: Parts) -> bool:
        """Whether a batch there has left out some records, not all, or steps are no conditions."""
        if not self.spec.before_state and not self.spec.inputs.drops_by_rule:
            return False
        return not all(step.condition for step in self.spec.before_state) or any(
            by_counts(batch, self.spec) is not True
            for batch in self.known.batches
            if batch.end.cut(batch.start.rest(parts))
        )

    def expanded(self, kept: Kept, asked: Mapping[Place, Accounted]) -> list[Place]:
        """In place of each value with many records these; of a lost one itself, and the kept ones.
        Raises ValueError, in words, for more than MOST, or an element that a value has not.
        """
        if not self.spec.inputs.spread:
            return [*asked]
        lost = self.nowhere(parts_of(asked))
        of = self._elements({p: b for p, b in asked.items() if not within(p, lost)})
        found = dict[Place, None]()
        for place in asked:
            there = of.get(place.value)
            if place.element != WHOLE:
                if place not in (there or [place]):
                    has = f"its value has {len(there or ()):,} records, from 0 on"
                    raise ValueError(f"{place.text()}: {has}")
                there = [place]
            elif there is None:
                known = {*kept.rejects, *kept.merged}
                there = [place, *(each for each in known if each.value == place)]
            found |= dict.fromkeys(there)
            if len(found) > MOST:
                raise ValueError(f"at most {MOST:,} records can be asked for at once")
        return sorted(found)

    def _elements(self, there: Mapping[Place, Accounted]) -> dict[Place, list[Place]]:
        """Value -> its records: by the client, or by Spark of what only an archive has."""
        near = located(parts_of(there), {}, self.earliest).source
        of = elements(self.spec, self.settings, self.source, near)
        if away := {place: batch for place, batch in there.items() if not within(place, near)}:
            try:
                for place in sorted(self.seen(away, {})):
                    of[place.value].append(place)
            except Failed as failed:  # their outcome will say so, too
                if not failed.why:
                    raise
        return of


def within(place: Place, parts: Parts) -> bool:
    """Whether one of the ranges has it, which ascend."""
    ranges = parts.get(place[0], ())
    number = bisect_right(ranges, (place[1], 2**63)) - 1
    return number >= 0 and place[1] < ranges[number][1]


def by_counts(batch: Accounted, spec: Pipeline) -> bool | None:
    """Whether good records entered the steps with state, by the account; None if only some did."""
    if (not spec.before_state and not spec.inputs.drops_some) or batch.none("filtered"):
        return True
    return False if batch.none("late", "accepted") else None


def _sampled(source: Source, parts: Parts) -> Iterator[Sampled]:
    """What the source has at these offsets, and some between near ones."""
    near = in_few(parts)
    return source.sampled(less(near, source.taken(near)) if near else {})


def elements(
    spec: Pipeline, settings: Settings, source: Source, parts: Parts
) -> dict[Place, list[Place]]:
    """Value with many records -> these, of the values that the source has at these offsets."""
    [topic] = spec.inputs
    sample = [*_sampled(source, parts)]
    taken = taken_apart(records(sample), topic, prepare(topic, settings.root, settings).given[0])
    found = defaultdict[Place, list[Place]](list)
    for parent, each in zip(taken.parents, taken.of or (), strict=True):
        place = Place.at(sample[parent].partition, sample[parent].offset, each.number)
        if within(place, parts):
            found[place.value].append(place)
    return found


def refuse_absent(spec: Pipeline, settings: Settings, named: Iterable[Place]) -> None:
    """Raise DecisionRefused for an element that its value, if the source has it, does not have."""
    if not (named := [place for place in named if place.element != WHOLE]):
        return
    source, shown = source_of(spec, settings), spec.inputs.shown
    state = source.state()
    of = elements(spec, settings, source, state.earliest.rest(state.latest.cut(parts_of(named))))
    for place in named:
        there = [each for each in of.get(place.value, ()) if each.element >= 0]
        if place.value in of and place not in there:
            raise DecisionRefused.no_element(
                record=place.text(shown), value=place.value.text(shown), records=len(there)
            )


def decoded(
    spec: Pipeline,
    settings: Settings,
    root: str,
    sample: Sequence[Sampled],
    asked: Collection[Place],
    step: Step | None,
) -> dict[Place, Seen]:
    """The asked ones, and for a step that drops copies these; no step before it leaves one out."""
    of = {p: spec.inputs.of_partition(p) for p in {each.partition for each in sample}}
    read = [
        _Read.of(topic, spec.inputs, settings, root, own)
        for topic in spec.inputs
        if (own := [each for each in sample if of[each.partition] is topic])
    ]
    values_ = {place[:2] for place in asked}
    found: dict[Place, Seen] = {}
    for each in read:
        found |= each.seen([n for n, place in enumerate(each.places) if place[:2] in values_])
    entered = [each.row for each in found.values() if each.row]
    if entered and step:
        keys = step.state_key(tuple(entered[0])) or ()
        for each in read:
            found |= each.seen([n for n in alike(each.rows, keys, entered) if each.enters[n]])
    return found


class _Read(NamedTuple):
    """Records of one topic, decoded."""

    places: list[Place]
    rows: pa.Table
    """What enters the first step, of those that do."""
    whys: list[str | None]
    """Why each is malformed."""
    enters: list[bool]

    @classmethod
    def of(
        cls, topic: Topic, inputs: Topics, settings: Settings, root: str, sample: list[Sampled]
    ) -> Self:
        prepared = prepare(topic, root, settings)
        taken = taken_apart(records(sample), topic, prepared.given[0])
        columns, told = prepared.decoder().decode(taken.records)
        numbers = [each.number for each in taken.of] if taken.of else [None] * len(told)
        places, dropped = list[Place](), list[bool]()
        for number, of in zip(numbers, (sample[n] for n in taken.parents), strict=True):
            places.append(Place.at(of.partition, of.offset, number))
            none = topic.tombstones == "dropped" and of.value is None
            dropped.append(none or number == EMPTY)
        whys = [None if dropped[n] else taken.reason(n, why) for n, why in enumerate(told)]
        enters = [not dropped[n] and why is None for n, why in enumerate(whys)]
        row = dict(zip(topic.columns, columns, strict=True))
        if inputs.named:
            nothing, named = pa.nulls(len(told)), pa.array([topic.name] * len(told))
            row = dict.fromkeys(inputs.columns, nothing) | row | {COLUMN: named}
        return cls(places, pa.table(row), whys, enters)

    def seen(self, numbers: list[int]) -> Iterator[tuple[Place, Seen]]:
        for n, row in zip(numbers, values(self.rows, numbers), strict=True):
            enters = self.enters[n]
            yield self.places[n], Seen(0, row) if enters else Seen(DROPPED, {}, self.whys[n])
