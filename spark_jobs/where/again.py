"""Again: reads the records of a checkpoint once more, where they are now: by Kafka's client, or by
Spark where only its SQL can say what the steps make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import pyarrow as pa

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.decode.formats import taken_apart
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import records
from spark_jobs.errors import (
    FilesUnfit,
    KafkaRefused,
    KafkaUnreachable,
    RecordsGone,
    SideGone,
    TopicMissing,
    UpstreamUnfit,
)
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.repair.offsets.slices import less, merged, without
from spark_jobs.side.pins import inputs_of
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions, parts_of
from spark_jobs.source.sources import same_topics, source_of
from spark_jobs.spec.inputs import COLUMN
from spark_jobs.values.own_columns import EMPTY
from spark_jobs.where.ask import DROPPED, Answer, Question, Seen, alike, deduplicates, values
from spark_jobs.where.asked import union, within
from spark_jobs.where.kept import Kept

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Sampled, Source, SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.known import Accounted, Known

MOST_HERE: Final = 50_000
"""Offsets that are read without Spark: a second or two. A cold Spark takes ten."""
UNANSWERED: Final = (
    KafkaUnreachable, KafkaRefused, TopicMissing, FilesUnfit, RecordsGone, UpstreamUnfit,
)  # fmt: skip
"""What a source raises that gives no answer now: what is kept has some."""
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
        topic, why = topic_of(spec, settings, known)
        has, _ = archived_or_why(known.paths.root, spec.inputs, known.identity.topic_id)
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
        taken = self.source.taken(found.source) if self.topic else {}
        return {
            p: tuple(sorted((*found.nowhere.get(p, ()), *taken.get(p, ()))))
            for p in found.nowhere.keys() | taken.keys()
        }

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
        here = union(parts_of(asked), beside)
        where = located(here, {}, self.earliest)
        away = any(within(place, self.has) for place in asked)
        if not (away or offsets_in(where.source) > MOST_HERE or self._needs_sql(here)):
            root, sample = str(self.known.paths.root), [*self.sampled(where.source)]
            step = deduplicates(self.spec) if beside else None
            return decoded(self.spec, self.settings, root, sample, asked, step)
        groups: dict[str | None, dict[Place, Accounted]] = {}
        for place, batch in asked.items():
            pins = self.pins(batch) if self.spec.sides else None
            groups.setdefault(pins, {})[place] = batch
        by_batch = {
            max(each.id for each in group.values()): parts_of(group) for group in groups.values()
        }
        own = parts_of(asked)
        others = {p: tuple(without(ranges, own.get(p, ()))) for p, ranges in beside.items()}
        aside = Kept.read(self.known, here).aside
        question = Question(asked=by_batch, beside=others, earliest=self.earliest, aside=aside)
        return self.ask(question).seen

    def sampled(self, parts: Parts) -> Iterator[Sampled]:
        """What the source has at these offsets, and some between near ones."""
        near = {partition: tuple(merged(ranges)) for partition, ranges in parts.items()}
        return self.source.sampled(less(near, self.source.taken(near)) if near else {})

    def _needs_sql(self, parts: Parts) -> bool:
        """Whether a batch with some of these offsets has left some records out, and not all; or has
        steps that are more than conditions.
        """
        if not self.spec.before_state and not self.spec.inputs.drops_by_rule:
            return False
        return not all(step.condition for step in self.spec.before_state) or any(
            by_counts(batch, self.spec) is not True
            for batch in self.known.batches
            if batch.end.cut(batch.start.rest(parts))
        )


def topic_of(
    spec: Pipeline, settings: Settings, known: Known | None
) -> tuple[SourceState | None, str]:
    """What Kafka has of the checkpoint's topic, and why nobody can say."""
    try:
        topic = source_of(spec, settings).state()
    except UNANSWERED as error:
        return None, f"the source did not answer: {error.what}"
    if known is not None and not same_topics(known.identity.topic_id, topic.id):
        return None, "the topic was made anew: its records are others"
    return topic, ""


def by_counts(batch: Accounted, spec: Pipeline) -> bool | None:
    """Whether a good record of the batch entered the first step that remembers, by the batch's
    account; None if that has both kinds.
    """
    if (not spec.before_state and not spec.inputs.drops_some) or batch.none("filtered"):
        return True
    return False if batch.none("late", "accepted") else None


def decoded(
    spec: Pipeline,
    settings: Settings,
    root: str,
    sample: Sequence[Sampled],
    asked: Collection[Place],
    step: Step | None,
) -> dict[Place, Seen]:
    """The asked ones, and for a step that drops copies those of them: where no step before state
    leaves out any.
    """
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
        elements = [each.number for each in taken.of] if taken.of else [None] * len(told)
        parents = [sample[n] for n in taken.parents]
        none = topic.tombstones == "dropped"
        dropped = [
            element == EMPTY or (none and record.value is None)
            for element, record in zip(elements, parents, strict=True)
        ]
        whys = [None if dropped[n] else taken.reason(n, why) for n, why in enumerate(told)]
        enters = [not dropped[n] and why is None for n, why in enumerate(whys)]
        places = [
            Place.at(record.partition, record.offset, element)
            for record, element in zip(parents, elements, strict=True)
        ]
        row = dict(zip(topic.columns, columns, strict=True))
        if inputs.named:
            nothing, named = pa.nulls(len(told)), pa.array([topic.name] * len(told))
            row = dict.fromkeys(inputs.columns, nothing) | row | {COLUMN: named}
        return cls(places, pa.table(row), whys, enters)

    def seen(self, numbers: list[int]) -> Iterator[tuple[Place, Seen]]:
        for n, row in zip(numbers, values(self.rows, numbers), strict=True):
            enters = self.enters[n]
            yield self.places[n], Seen(0, row) if enters else Seen(DROPPED, {}, self.whys[n])
