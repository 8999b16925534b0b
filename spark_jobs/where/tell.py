"""Tell: the fates of some records, of what is kept and of what Kafka or an archive has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import KafkaRefused, KafkaUnreachable, TopicMissing
from spark_jobs.messages.job import Where
from spark_jobs.source.sources import same_topics, source_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.times import time_of
from spark_jobs.where.events import Events
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.gaps import unread
from spark_jobs.where.kept import Kept
from spark_jobs.where.known import Known
from spark_jobs.where.rest import Ask, Rest
from spark_jobs.where.used import by_merging, swapped

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.source.port import SourceState
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.known import Accounted


class Telling(NamedTuple):
    """One question about a pipeline."""

    spec: Pipeline
    settings: Settings
    ask: Ask

    @property
    def paths(self) -> Paths:
        return Paths(self.settings.root, self.spec)

    def by_key(self, condition: str, most: int) -> list[Place]:
        """The places of the records that a batch has read and for which this SQL holds. Raises
        ValueError, in words, for more than `most`; what Kafka refuses.
        """
        if (known := Known.read(self.paths, self.spec)) is None:
            return []
        topic, _ = self._topic(known)
        every = known.begins.parts(known.end(known.audited))
        job = Where(
            pipeline=self.spec.name, folder="", beside=every, batch=known.audited,
            earliest=known.earliest(topic).named, key=condition, most=most + 1,
        )  # fmt: skip
        found = sorted(self.ask(job)) if every else []
        if len(found) > most:
            raise ValueError(f"more than {most:,} records are found: narrow the condition")
        return found

    def fates(self, asked: Collection[Place]) -> list[Fate]:
        """In order. Raises what reading a root and Kafka does, and what Spark said."""
        known = Known.read(self.paths, self.spec)
        topic, why = self._topic(known)
        if known is None:
            return [*unread(None, topic, asked).values()]
        having = known.of(asked)
        kept = Kept.read(known, asked)
        swaps = swapped(known)
        found: dict[Place, Fate] = {}
        for place in asked:
            if fate := _kept(kept, place, having.get(place)):
                told, version = by_merging(kept.merged.get(place, ()), swaps)
                bad = kept.bad_in_words(place, having.get(place))
                found[place] = fate._replace(used_by=(*told, *bad), table_version=version)
        found |= unread(known, topic, [p for p in asked if p not in found and p not in having])
        rest = {place: batch for place, batch in having.items() if place not in found}
        found |= Rest(
            self.spec, self.settings, known, kept, topic, why, rest, swaps, self.ask
        ).fates()
        return self._with_events(found)

    def _topic(self, known: Known | None) -> tuple[SourceState | None, str]:
        """What Kafka has of the checkpoint's topic, and why nobody can say."""
        try:
            topic = source_of(self.spec, self.settings).state()
        except (KafkaUnreachable, KafkaRefused, TopicMissing) as error:
            return None, f"Kafka did not answer: {error.what}"
        if known is not None and not same_topics(known.identity.topic_id, topic.id):
            return None, "the topic was made anew: its records are others"
        return topic, ""

    def _with_events(self, found: dict[Place, Fate]) -> list[Fate]:
        """In order."""
        events = Events.read(self.paths)
        told: list[Fate] = []
        for _, fate in sorted(found.items()):
            if fate.table_version is None:
                told.append(fate)
                continue
            number, why = events.first(fate.table_version)
            first = fate._replace(event=number)
            told.append(first.but(why) if why else first)
        return told


def _kept(kept: Kept, place: Place, batch: Accounted | None) -> Fate | None:
    """Of a record whose own batch has rejected it."""
    if row := kept.rejected(place, batch):
        became = Became(row["kind"])
        fate = Fate(place, became, row["reason"], row["batch_id"], row["run_id"])
        return fate._replace(event_time=_time(row["at"]))
    if rows := kept.late.get(place):
        row = rows[0]
        at, missed = _time(row["at"]), row["watermark_missed"]
        by = None if at is None or isinstance(at, str) or missed is None else missed - at
        why = f"the step {row['step']} drops it"
        fate = Fate(place, Became.LATE, why, row["batch_id"], row["run_id"])
        return fate._replace(event_time=at, watermark_missed=missed, late_by=by)
    return None


def _time(micros: int | None) -> datetime | str | None:
    return None if micros is None else time_of(micros)
