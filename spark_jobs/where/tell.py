"""Tell: the fates of some records, of what is kept and of what Kafka or an archive has: a place ->
what is known of it -> its outcome, from the records read again -> where it went.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.notes.noted_versions import noted_for
from spark_jobs.checkpoint.notes.published import told_newest_first
from spark_jobs.launch.question import Failed
from spark_jobs.repair.offsets.archived import NO_BATCH
from spark_jobs.source.positions import parts_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.times import time_of
from spark_jobs.where.again import Reader, by_counts, within
from spark_jobs.where.ask import DROPPED, Question
from spark_jobs.where.copies import UNREAD, seen_and_kept
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.in_table import MOST as MOST_LOOKED_UP, InTable
from spark_jobs.where.kept import DID, Kept, Known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.place import Place
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.again import Ask
    from spark_jobs.where.ask import Seen
    from spark_jobs.where.kept import Accounted

EXPIRED: Final = (
    "its outcome: rejected records of its batch are no longer kept (SLUICE_REJECTED_DAYS), and it "
    "may have been one of them"
)
ANY: Final = "Spark keeps any of those of one batch"


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
        at = {"topic_id": known.identity.topic_id, "earliest": reader.earliest}
        none: dict[int, Parts] = {known.audited: {}}
        asked = Question(asked=none, beside=every, key=condition, most=most + 1, **at)
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
        rejected = (kept.fate(self.spec, place, having.get(place)) for place in asked)
        found = {fate.place: fate for fate in rejected if fate}
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
        """With the first event of the version: these grow in a table, and so in its events."""
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
    if topic is None:
        return "behind the last batch; its source was not asked"
    if topic.latest.passed(place):
        return "it waits for the next run"
    held = topic.held.get(place.partition)
    if held is not None and topic.latest.back(-held.offsets).passed(place):
        return "behind a transaction that is open yet: no consumer gets it"
    return "its source has no such offset yet"


class Outcomes(NamedTuple):
    """Of records that their batches have read and neither rejected nor dropped as late, and of
    offsets without a record: they are read again.
    """

    reader: Reader
    kept: Kept
    """Of all that were asked for."""
    asked: Mapping[Place, Accounted]

    def fates(self) -> Iterator[Fate]:
        lost, seen, kept_of = self._read_again()
        absent = {p: b for p, b in self.asked.items() if p not in lost and p not in seen}
        gaps = {p: b for p, b in absent.items() if not b.none("gaps", "unknown")}
        lost |= dict.fromkeys(absent.keys() - gaps.keys(), "its source has it no more")
        found, known = dict(self._gaps(gaps)), self.reader.known
        whole = self.kept.whole(self.asked.values())
        table = InTable(self.reader.spec, known.paths, known.batches)
        looked_up = len(self.asked) - len(gaps) - len(lost) <= MOST_LOOKED_UP
        aside = read_failing(known.paths.failing).in_repairs
        for place, batch in self.asked.items():
            if (fate := found.get(place)) is None:
                fate = Fate(place, Became.UNTOLD, batch=batch.id, run_id=batch.run_id)
                changed = batch.id <= known.same_since and "the spec has changed since its batch"
                if batch.id not in whole:
                    fate = fate.but(EXPIRED)
                elif why := lost.get(place) or changed or seen[place].untold:
                    fate = self._by_counts(fate, batch, why, is_record=place in seen)
                else:
                    fate = self._by_steps(fate, batch, seen[place])
                if fate.became is Became.ACCEPTED and not fate.untold:
                    out = aside.get(place)
                    fate = self.entered(fate, seen[place], kept_of.get(place))
                    fate = table.went(fate, seen[place], batch, looked_up=looked_up and not out)
                    fate = fate.but(out and f"which rows it is in: repairs leave it out, {out}")
                fate = self.kept.found_bad(fate, batch)
            yield fate

    def _read_again(
        self,
    ) -> tuple[dict[Place, str], Mapping[Place, Seen], Mapping[Place, set[Place]]]:
        """Why some cannot be; the others, as far as there are records; and as copies.kept_of."""
        lost = self._unreadable()
        there = {place: batch for place, batch in self.asked.items() if place not in lost}
        if not there:
            return lost, {}, {}
        try:
            return lost, *seen_and_kept(self.reader, there)
        except Failed as failed:
            if not failed.why:
                raise
            why = f"Spark fails on it, or on one beside it: {failed.why}"
            return lost | dict.fromkeys(there, why), {}, {}

    def _unreadable(self) -> dict[Place, str]:
        """The places that nobody can read again as their batch did, and why."""
        reader, parts = self.reader, self.reader.nowhere(parts_of(self.asked))
        gone = f"{reader.why_not or 'its source has it no more'}, and no archive has it"
        found = {place: gone for place in self.asked if within(place, parts)}
        if reader.spec.sides:
            pins = {batch.id: reader.pins(batch) for batch in self.asked.values()}
            why = "the version of a table beside the stream is gone"
            found |= {p: why for p, batch in self.asked.items() if pins[batch.id] is None}
        return found

    def _gaps(self, gaps: Mapping[Place, Accounted]) -> Iterator[tuple[Place, Fate]]:
        earliest = self.reader.earliest
        told = self.reader.source.gaps([place for place in gaps if not earliest.passed(place)])
        for place, batch in gaps.items():
            fate = Fate(place, Became.REMOVED, batch=batch.id, run_id=batch.run_id)
            if gap := told.get(place.value):
                yield place, fate._replace(became=Became(gap.kind), why=gap.why).but(gap.untold)
            else:
                lacks = "what was there: the archive has no record, and its source has it no more"
                yield place, fate.but(lacks)

    def _by_counts(self, fate: Fate, batch: Accounted, why: str, *, is_record: bool) -> Fate:
        if not is_record and fate.place == fate.place.value and self.reader.spec.inputs.spread:
            return fate.but(f"what became of its records that are not kept: {why}")
        if not is_record and not batch.none("gaps", "unknown"):
            return fate.but(f"what was there: {why}, and its batch had offsets without a record")
        if (entered := by_counts(batch, self.reader.spec)) is None:
            return fate.but(f"whether the steps left it out: {why}")
        became = Became.ACCEPTED if entered else Became.FILTERED
        return fate._replace(became=became).but(f"by which step, or in which rows: {why}")

    def _by_steps(self, fate: Fate, batch: Accounted, seen: Seen) -> Fate:
        spec, entered = self.reader.spec, by_counts(batch, self.reader.spec)
        if seen.why is not None:
            refuses = f"today's decoder refuses it ({seen.why}), and its batch did not"
            return fate.but(f"its outcome: {refuses}")
        if entered is not None and entered != bool(seen.row):
            says = "all" if entered else "none"
            return fate.but(f"its outcome: by the account of its batch {says} entered")
        if seen.row:
            return fate._replace(became=Became.ACCEPTED)
        nothing = (
            "its value has no record"
            if spec.inputs.spread
            else "a tombstone, which the topic drops"
        )
        by = seen.rules or nothing
        if seen.reached != DROPPED:
            by = f"step {seen.reached + 1}: {spec.before_state[seen.reached].described}"
        return fate._replace(became=Became.FILTERED, why=by)

    def entered(self, fate: Fate, seen: Seen, kept: set[Place] | None) -> Fate:
        """With the repairs that have used it, and as its key's Deduplicate has it."""
        spec, at = self.reader.spec, time_of(seen.row[self.reader.spec.inputs.event_time])
        again = [*self.kept.computed_again(spec, fate.place, None if isinstance(at, str) else at)]
        used = (f"{row['kind']} {row['repair_id']} {DID[row['state']]}" for row in again)
        fate = fate._replace(event_time=at, used_by=(*used,))
        topic = spec.inputs.of_partition(fate.place.partition).name
        if kept is None and spec.entry and spec.entry.drops_within(topic):
            why = "whether it was kept: the step drops copies before it makes pairs"
            return fate._replace(became=Became.EITHER).but(why)
        if kept is None or kept == {fate.place}:
            return fate
        others, beyond = tuple(sorted(kept - {fate.place, UNREAD})), UNREAD in kept
        either = fate._replace(became=Became.EITHER)
        if not kept:
            unlike = "the table's rows and the records of its key do not agree"
            return either.but(f"whether it was kept: {unlike}")
        if fate.place in kept:
            why = "a copy may be where nobody can read it any more" if beyond else ANY
            return either._replace(copies=others).but(f"which copy was kept: {why}")
        fate = fate._replace(became=Became.DUPLICATE, copies=others)
        if any(row["state"] == "swapped" for row in again):
            fate = fate.but("whether a repair has put it into the rows in place of that record")
        if beyond:
            return fate.but("of which record: it may be one that nobody can read any more")
        return fate.but(f"of which of them: {ANY}" if len(others) > 1 else "")
