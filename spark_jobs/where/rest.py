"""Rest: the fates of records that their batches have read and neither rejected nor dropped as late,
and of offsets without a record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.pins import inputs_of
from spark_jobs.errors import SideGone
from spark_jobs.messages.job import Where
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.repair.offsets.slices import Index, merged
from spark_jobs.source.place import Place
from spark_jobs.values.spans import MICROSECOND
from spark_jobs.values.times import EPOCH, time_of
from spark_jobs.where import same_key
from spark_jobs.where.asked import parts_of
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.gaps import without_record
from spark_jobs.where.in_table import MOST as MOST_LOOKED_UP, InTable, written_with
from spark_jobs.where.kept import Kept, whole
from spark_jobs.where.outcome import Judge, by_counts
from spark_jobs.where.read import Seen, decoded, sampled
from spark_jobs.where.used import by_range

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.copies import Told
    from spark_jobs.where.known import Accounted, Known

MOST_HERE: Final = 20_000
"""Offsets that are read without Spark: a second, about."""
Ask = Callable[[Where], dict[Place, Seen]]
"""What Spark says (ask.py)."""
NOT_ASKED: Final = "Kafka was not asked: {why}"


class Rest(NamedTuple):
    """Their batches, and where they can be read."""

    spec: Pipeline
    settings: Settings
    known: Known
    kept: Kept
    """Of all that were asked for."""
    topic: SourceState | None
    why_not: str
    """Why the topic cannot be asked."""
    asked: Mapping[Place, Accounted]
    swaps: list[Row]
    ask: Ask

    def fates(self) -> dict[Place, Fate]:
        if not self.asked:
            return {}
        has, _ = archived_or_why(
            self.known.paths.root, self.spec.inputs, self.known.identity.topic_id
        )
        places = located(parts_of(self.asked), has, self._earliest)
        gone = {place for place in self.asked if _within(place, places.nowhere)}
        found = {place: self._gone(place, self.asked[place]) for place in gone}
        if self.spec.sides:
            found |= self._unpinned(self.asked.keys() - gone)
        there = {place: batch for place, batch in self.asked.items() if place not in found}
        seen, told = self._seen(there, has)
        gaps = {place: batch for place, batch in there.items() if place not in seen}
        in_kafka = {p: b for p, b in gaps.items() if not self._earliest.passed(p)}
        if self.topic is not None:
            found |= without_record(self.settings, self.spec, self.topic, in_kafka)
        for place in gaps.keys() - found.keys():
            fate = Fate(place, Became.REMOVED, batch=gaps[place].id, run_id=gaps[place].run_id)
            found[place] = fate.but(
                "what was there: the archive has no record, and Kafka is past it"
            )
        complete = whole(self.known, self.asked.values())
        table = InTable(self.spec, self.known.paths)
        looked_up = len(seen.keys() & there.keys()) <= MOST_LOOKED_UP
        for place, batch in there.items():
            if place not in seen:
                continue
            fate = self._judge(place, batch, seen[place], complete)
            if fate.became is Became.ACCEPTED and seen[place].row and not fate.untold:
                fate = self._entered(fate, seen[place], told.get(place), table, looked_up)
            found[place] = self._found_bad(fate)
        return found

    @property
    def _earliest(self) -> Positions:
        return self.known.earliest(self.topic)

    def _pins(self, batch: Accounted) -> str | None:
        """The versions of the tables beside the stream that the batch read; None if one is gone."""
        checkpoint = Checkpoint(self.known.paths.checkpoint)
        try:
            return repr(inputs_of(batch.id, checkpoint, self.spec, self.settings))
        except SideGone:
            return None

    def _unpinned(self, places: Collection[Place]) -> dict[Place, Fate]:
        """Of those whose batch read a table beside the stream that cannot be read so again."""
        pins = {batch.id: self._pins(batch) for batch in self.asked.values()}
        lost = (place for place in places if pins[self.asked[place].id] is None)
        return {
            place: Fate(
                place, Became.UNTOLD, batch=self.asked[place].id, run_id=self.asked[place].run_id
            ).but("its outcome: the version of a table beside the stream is gone")
            for place in lost
        }

    def _judge(self, place: Place, batch: Accounted, seen: Seen | None, complete: set[int]) -> Fate:
        if batch.id not in complete:
            return Fate(place, Became.UNTOLD, batch=batch.id, run_id=batch.run_id).but(
                "its outcome: rejected records of its batch are no longer kept "
                "(SLUICE_REJECTED_DAYS), and it may have been one of them"
            )
        return Judge(self.known, self.spec).fate(place, batch, seen)

    def _gone(self, place: Place, batch: Accounted) -> Fate:
        """Of an offset whose record nobody has any more."""
        if batch.none("gaps", "unknown"):
            complete = whole(self.known, [batch])
            return self._found_bad(self._judge(place, batch, None, complete))
        fate = Fate(place, Became.REMOVED, batch=batch.id, run_id=batch.run_id)
        why = NOT_ASKED.format(why=self.why_not) if self.why_not else "Kafka no longer has it"
        return fate.but(f"what was there: {why}, and its batch had offsets without a record")

    def _found_bad(self, fate: Fate) -> Fate:
        bad = self.kept.bad_in_words(fate.place, self.asked[fate.place])
        return fate._replace(used_by=(*fate.used_by, *bad))

    def _entered(
        self, fate: Fate, seen: Seen, told: Told | None, table: InTable, looked_up: bool
    ) -> Fate:
        at = time_of(seen.row[self.spec.inputs.event_time])
        used = by_range(self.spec, self.swaps, fate.place, None if isinstance(at, str) else at)
        fate = fate._replace(event_time=at, used_by=(*used,))
        if told is not None:
            fate = _of_key(fate, told)
        if fate.became is Became.ACCEPTED:
            version, why = written_with(self.known, self.spec, fate.batch or 0, seen)
            fate = fate._replace(table_version=version)
            fate = fate.but(why) if why else fate
        if looked_up and fate.became is not Became.DUPLICATE:
            rows, why = table.rows(fate.place, seen)
            fate = fate._replace(rows=rows)
            fate = fate.but(why) if why else fate
        return fate

    def _seen(
        self, asked: Mapping[Place, Accounted], has: Parts
    ) -> tuple[dict[Place, Seen], dict[Place, Told]]:
        """The records, and of copies what a Deduplicate made of them."""
        step = same_key.deduplicates(self.spec)
        # What a step before state has left out is no copy, and nobody looks for its copies.
        may = {p: b for p, b in asked.items() if by_counts(b, self.spec) is not False}
        if step is None or not may:
            return self._read(asked, {}, has), {}
        for reach in same_key.REACHES:
            among = same_key.among(self.known, self.spec, step, [*may.values()], reach)
            seen = self._read(asked, among.parts, has)
            entered = {place: each for place, each in seen.items() if each.row}
            lost = located(among.parts, has, self._earliest).nowhere
            unread = self._unread_until(among, lost)
            unsure = self._rejected(entered)
            entered = {p: each for p, each in entered.items() if unsure.get(p) is not None}
            open_ = [place for place, sure in unsure.items() if sure is False]
            told = same_key.judged(
                self.known, InTable(self.spec, self.known.paths), step, entered,
                may.keys() & entered.keys(), open_, unread,
            )  # fmt: skip
            if not any(each.beyond and each.kept for each in told.values()):
                break
        return seen, told

    def _rejected(self, entered: Mapping[Place, Seen]) -> dict[Place, bool | None]:
        """Of records that are good by today's spec: None if their batch has rejected them, True if
        it has not, False if nobody knows.
        """
        batch_of = self.known.of(entered)
        kept = Kept.read(self.known, [*entered])
        complete = whole(self.known, batch_of.values())
        pins = {self._pins(each) for each in self.asked.values()} if self.spec.sides else set()
        found: dict[Place, bool | None] = {}
        for place, batch in batch_of.items():
            bad = kept.rejected(place, batch) or kept.late.get(place)
            sure = batch.id in complete and batch.id > self.known.same_since
            if self.spec.sides and place not in self.asked:
                sure = sure and pins == {self._pins(batch)}
            found[place] = None if bad else sure
        return found

    def _unread_until(self, among: same_key.Among, lost: Parts) -> int | None:
        if not lost:
            return among.unread_until
        index = Index.read(
            self.known.paths, self.known.generations, self.known.begins,
            self.known.end(self.known.audited),
        )  # fmt: skip
        newest = index.newest_at(lost)
        until = 2**62 if newest is None or index.lacking else (newest - EPOCH) // MICROSECOND
        return max(until, among.unread_until or until)

    def _read(
        self, asked: Mapping[Place, Accounted], beside: Parts, has: Parts
    ) -> dict[Place, Seen]:
        """By the client, or by Spark where only its SQL can say what the steps make of them."""
        parts = parts_of(asked)
        here = {
            partition: tuple(merged([*parts.get(partition, ()), *beside.get(partition, ())]))
            for partition in parts.keys() | beside.keys()
        }
        where = located(here, {}, self._earliest)
        many = offsets_in(where.source) > MOST_HERE
        away = any(_within(place, has) for place in asked)
        decided = not self.spec.before_state and not self.spec.inputs.drops_by_rule
        needs_sql = not decided and self._undecided(here)
        if not (many or away or needs_sql):
            sample = sampled(self.settings, self.spec, where.source)
            return decoded(self.settings, self.spec, sample, str(self.known.paths.root))
        groups: dict[str | None, dict[Place, Accounted]] = {}
        for place, batch in asked.items():
            pins = self._pins(batch) if self.spec.sides else None
            groups.setdefault(pins, {})[place] = batch
        found: dict[Place, Seen] = {}
        for group in groups.values():
            job = Where(
                pipeline=self.spec.name, folder="", asked=parts_of(group), beside=beside,
                batch=max(each.id for each in group.values()), earliest=self._earliest.named,
            )  # fmt: skip
            answer = self.ask(job)
            found |= {p: seen for p, seen in answer.items() if p in group or p not in asked}
        return found

    def _undecided(self, parts: Parts) -> bool:
        """Whether a batch with some of these offsets has left some records out, and not all; or has
        steps that are more than conditions.
        """
        if not all(step.condition for step in self.spec.before_state):
            return True
        return any(
            by_counts(batch, self.spec) is not True
            for batch in self.known.batches
            if batch.end.cut(batch.start.rest(parts))
        )


def _within(place: Place, parts: Parts) -> bool:
    return any(first <= place.offset < stop for first, stop in parts.get(place.partition, ()))


def _of_key(fate: Fate, told: Told) -> Fate:
    """What its key's Deduplicate made of it."""
    which = "Spark keeps any of those of one batch"
    if not told.kept and not told.dropped:
        unlike = "the table's rows and the records of its key do not agree"
        return fate._replace(became=Became.EITHER).but(f"whether it was kept: {unlike}")
    if told.kept and told.dropped:
        lost = "a copy may be where nobody can read it any more"
        either = fate._replace(became=Became.EITHER, copies=told.of)
        return either.but(f"which copy was kept: {lost if told.beyond else which}")
    if told.dropped:
        fate = fate._replace(became=Became.DUPLICATE, copies=told.of)
        if told.beyond:
            return fate.but("of which record: it may be one that nobody can read any more")
        if len(told.of) > 1:
            return fate.but(f"of which of them: {which}")
    return fate
