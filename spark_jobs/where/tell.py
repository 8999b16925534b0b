"""Tell: the fates of some records, of what is kept and of what Kafka or an archive has.

A place -> what is known of it -> its outcome -> where it went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.pins import noted_for
from spark_jobs.source.sources import source_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.where.again import Reader, topic_of
from spark_jobs.where.ask import Question
from spark_jobs.where.asked import parts_of
from spark_jobs.where.events import Events
from spark_jobs.where.gaps import unread
from spark_jobs.where.kept import Kept
from spark_jobs.where.known import Known
from spark_jobs.where.outcome import Outcomes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.again import Ask
    from spark_jobs.where.fate import Fate


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
        ValueError, in words, for more than `most`; what Kafka refuses; and Failed.
        """
        if (known := Known.read(self.paths, self.spec)) is None:
            return []
        reader = Reader.of(self.spec, self.settings, known, self.ask)
        every = known.begins.parts(known.end(known.audited))
        asked = Question(
            asked={known.audited: {}}, beside=every, earliest=reader.earliest, key=condition,
            most=most + 1,
        )  # fmt: skip
        found = self.ask(asked).places if every else []
        if len(found) > most:
            raise ValueError(f"more than {most:,} records are found: narrow the condition")
        return found

    def fates(self, asked: Collection[Place]) -> list[Fate]:
        """In order. Raises what reading a root and Kafka does, and Failed."""
        if (known := Known.read(self.paths, self.spec)) is None:
            topic, _ = topic_of(self.spec, self.settings, None)
            return [*unread(None, topic, asked).values()]
        reader = Reader.of(self.spec, self.settings, known, self.ask)
        having, kept = known.of(asked), Kept.read(known, parts_of(asked))
        found = {place: fate for place in asked if (fate := kept.fate(place, having.get(place)))}
        rest = [place for place in asked if place not in found]
        found |= unread(known, reader.topic, [place for place in rest if place not in having])
        read = {place: having[place] for place in rest if place in having}
        found |= {fate.place: fate for fate in Outcomes(reader, kept, read).fates()}
        source = source_of(self.spec, self.settings)
        told = (
            fate._replace(origin=source.origin(at), read_beside=self._beside(fate, known))
            for at, fate in sorted(found.items())
        )
        return [*self._with_events(told)]

    def _beside(self, fate: Fate, known: Known) -> tuple[str, ...]:
        if not self.spec.sides or fate.batch is None or fate.batch > known.audited:
            return ()
        pins = noted_for(fate.batch, Checkpoint(known.paths.checkpoint))
        return tuple(f"{name}, version {pin.version}" for name, pin in pins.items())

    def _with_events(self, found: Iterable[Fate]) -> Iterable[Fate]:
        events = Events.read(self.paths)
        for fate in found:
            if fate.table_version is None:
                yield fate
                continue
            number, why = events.first(fate.table_version)
            yield fate._replace(event=number).but(why)
