"""Tell: the fates of some records, of what is kept and of what Kafka or an archive has.

A place -> what is known of it -> its outcome -> where it went.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.published import told_newest_first
from spark_jobs.checkpoint.pins import noted_for
from spark_jobs.repair.offsets.archived import NO_BATCH
from spark_jobs.source.positions import parts_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.where.again import Reader
from spark_jobs.where.ask import Question
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.kept import Kept, Known
from spark_jobs.where.outcome import Outcomes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.source.port import SourceState
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.again import Ask


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
            return [Fate(each, Became.UNREAD, "no run has read a record yet") for each in asked]
        reader = Reader.of(self.spec, self.settings, known, self.ask)
        kept = Kept.read(known, parts_of(asked))
        read = known.of(asked)
        asked = [*(each for each in asked if each not in read), *reader.expanded(kept, read)]
        having = known.of(asked)
        found: dict[Place, Fate] = {}
        for place in asked:
            if fate := kept.fate(self.spec, place, having.get(place)):
                found[place] = fate
        rest = [place for place in asked if place not in found]
        if without := [place for place in rest if place not in having]:
            found |= {fate.place: fate for fate in _unread(known, reader.topic, without)}
        again = {place: having[place] for place in rest if place in having}
        found |= {fate.place: fate for fate in Outcomes(reader, kept, again).fates()}
        told = (
            fate._replace(origin=reader.source.origin(at), read_beside=self._beside(fate, known))
            for at, fate in sorted(found.items())
        )
        return [*self._with_events(told)]

    def _beside(self, fate: Fate, known: Known) -> tuple[str, ...]:
        if not self.spec.sides or fate.batch is None or fate.batch > known.audited:
            return ()
        pins = noted_for(fate.batch, Checkpoint(known.paths.checkpoint))
        return tuple(f"{name}, version {pin.version}" for name, pin in pins.items())

    def _with_events(self, found: Iterable[Fate]) -> Iterator[Fate]:
        """With the first event that told consumers of the version. Versions of one table only grow,
        and so do those of its events.
        """
        every = [*told_newest_first(self.paths)][::-1]
        # By its name: a moved root has its path from before.
        own = [each for each in every if each.table.rpartition("/")[2] == self.paths.table.name]
        versions = [each.table_version for each in own]
        for fate in found:
            if fate.table_version is None:
                yield fate
            elif (at := bisect_left(versions, fate.table_version)) == len(own):
                yield fate.but("the event: it is not published yet")
            elif own[at] is every[0] and own[at].number > 1:
                yield fate.but(f"the event: those before {own[at].number} are gone")
            else:
                yield fate._replace(event=own[at].number)


def _unread(known: Known, topic: SourceState | None, places: Collection[Place]) -> Iterator[Fate]:
    """Of offsets that no accounted batch has."""
    end, sliced = known.end(known.audited), known.sliced(places)
    for place in places:
        batch = sliced.get(place)
        waiting = next((each.id for each in known.unaccounted if each.has(place)), None)
        if waiting is not None:
            why = f"batch {waiting} has no account yet, and the next run gives it one"
            yield Fate(place, Became.UNTOLD, batch=waiting).but(f"its outcome: {why}")
        elif known.begins.passed(place):
            why = "before the first offset that the checkpoint has read"
            yield Fate(place, Became.UNREAD, why)
        elif batch == NO_BATCH:
            why = "its outcome: no batch read it, and a rebuild had it from the archive"
            yield Fate(place, Became.UNTOLD).but(why)
        elif batch is not None or end.passed(place):
            why = "the account of its batch has expired (SLUICE_HISTORY_DAYS)"
            yield Fate(place, Became.UNTOLD, batch=batch).but(why)
        else:
            yield Fate(place, Became.UNREAD, _ahead(topic, place))


def _ahead(topic: SourceState | None, place: Place) -> str:
    """Of an offset behind the last batch."""
    if topic is None:
        return "behind the last batch; its source was not asked"
    if topic.latest.passed(place):
        return "it waits for the next run"
    held = topic.held.get(place.partition)
    if held is not None and topic.latest.back(-held.offsets).passed(place):
        return "behind a transaction that is open yet: no consumer gets it"
    return "its source has no such offset yet"
