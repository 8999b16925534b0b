"""Again: reads the records of a checkpoint once more, where they are now: by Kafka's client, or by
Spark where only its SQL can say what the steps make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.pins import inputs_of
from spark_jobs.errors import KafkaRefused, KafkaUnreachable, SideGone, TopicMissing
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.repair.offsets.slices import without
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import same_topics, source_of
from spark_jobs.where.ask import Answer, Question
from spark_jobs.where.asked import parts_of, union, within
from spark_jobs.where.read import Seen, decoded, sampled

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.known import Accounted, Known

MOST_HERE: Final = 20_000
"""Offsets that are read without Spark: a second, about."""
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

    def nowhere(self, parts: Parts) -> Parts:
        """What of them nobody has any more."""
        return located(parts, self.has, self.earliest).nowhere

    def pins(self, batch: Accounted) -> str | None:
        """The versions of the tables beside the stream that the batch read; None if one is gone."""
        checkpoint = Checkpoint(self.known.paths.checkpoint)
        try:
            return repr(inputs_of(batch.id, checkpoint, self.spec, self.settings))
        except SideGone:
            return None

    def seen(
        self,
        asked: Mapping[Place, Accounted],
        beside: Parts,
        aside: list[tuple[int, int, str]],
    ) -> dict[Place, Seen]:
        """By the client, or by Spark where only its SQL can say what the steps make of them, or
        there are many. Raises Failed.
        """
        here = union(parts_of(asked), beside)
        where = located(here, {}, self.earliest)
        away = any(within(place, self.has) for place in asked)
        if not (away or offsets_in(where.source) > MOST_HERE or self._needs_sql(here)):
            sample = sampled(self.settings, self.spec, where.source)
            return decoded(self.settings, self.spec, sample, str(self.known.paths.root))
        groups: dict[str | None, dict[Place, Accounted]] = {}
        for place, batch in asked.items():
            pins = self.pins(batch) if self.spec.sides else None
            groups.setdefault(pins, {})[place] = batch
        by_batch = {
            max(each.id for each in group.values()): parts_of(group) for group in groups.values()
        }
        own = parts_of(asked)
        others = {p: tuple(without(ranges, own.get(p, ()))) for p, ranges in beside.items()}
        question = Question(asked=by_batch, beside=others, earliest=self.earliest, aside=aside)
        return self.ask(question).seen

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
    except (KafkaUnreachable, KafkaRefused, TopicMissing) as error:
        return None, f"Kafka did not answer: {error.what}"
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
