"""Outcome: of records that their batches have read and neither rejected nor dropped as late, and of
offsets without a record: they are read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.launch.question import Failed
from spark_jobs.source.positions import parts_of
from spark_jobs.values.times import time_of
from spark_jobs.where import copies
from spark_jobs.where.again import by_counts
from spark_jobs.where.ask import DROPPED, deduplicates
from spark_jobs.where.asked import within
from spark_jobs.where.expanded import OTHERS
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.in_table import MOST as MOST_LOOKED_UP, InTable
from spark_jobs.where.kept import DID, Kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spark_jobs.source.place import Place
    from spark_jobs.where.again import Reader
    from spark_jobs.where.ask import Seen
    from spark_jobs.where.known import Accounted

EXPIRED: Final = (
    "its outcome: rejected records of its batch are no longer kept (SLUICE_REJECTED_DAYS), and it "
    "may have been one of them"
)
ROWS: Final = "which rows it is in"
ANY: Final = "Spark keeps any of those of one batch"


class Outcomes(NamedTuple):
    """Of some places, and their batches."""

    reader: Reader
    kept: Kept
    """Of all that were asked for."""
    asked: Mapping[Place, Accounted]

    def fates(self) -> Iterator[Fate]:
        lost, seen, kept_of = self._read_again()
        absent = {p: b for p, b in self.asked.items() if p not in lost and p not in seen}
        gaps = {p: b for p, b in absent.items() if not b.none("gaps", "unknown")}
        lost |= dict.fromkeys(absent.keys() - gaps.keys(), "its source has it no more")
        found = dict(self._gaps(gaps))
        whole = self.kept.whole(self.asked.values())
        table = InTable(self.reader.spec, self.reader.known.paths, self.reader.known.batches)
        looked_up = len(self.asked) - len(gaps) - len(lost) <= MOST_LOOKED_UP
        aside = read_failing(self.reader.known.paths.failing).in_repairs
        for place, batch in self.asked.items():
            if (fate := found.get(place)) is None:
                fate = Fate(place, Became.UNTOLD, batch=batch.id, run_id=batch.run_id)
                if batch.id not in whole:
                    fate = fate.but(EXPIRED)
                elif place in lost and place == place.value and self.reader.spec.inputs.spread:
                    fate = fate.but(f"{OTHERS}: {lost[place]}")
                elif why := lost.get(place) or self._not_as_then(batch, seen[place]):
                    fate = self._by_counts(fate, batch, why, is_record=place in seen)
                else:
                    fate = self._by_steps(fate, batch, seen[place])
                if fate.became is Became.ACCEPTED and not fate.untold:
                    fate = self.entered(fate, seen[place], kept_of.get(place))
                    left_out = aside.get(place)
                    lookup = looked_up and left_out is None
                    fate = table.went(fate, seen[place], batch, looked_up=lookup)
                    fate = fate.but(left_out and f"{ROWS}: repairs leave it out, {left_out}")
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
            return lost, *self._seen(there)
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
            found |= {
                place: "the version of a table beside the stream is gone"
                for place, batch in self.asked.items()
                if pins[batch.id] is None
            }
        return found

    def _gaps(self, gaps: Mapping[Place, Accounted]) -> Iterator[tuple[Place, Fate]]:
        """Of offsets that batches have read, and no committed record is at."""
        earliest = self.reader.earliest
        told = self.reader.source.gaps([place for place in gaps if not earliest.passed(place)])
        for place, batch in gaps.items():
            fate = Fate(place, Became.REMOVED, batch=batch.id, run_id=batch.run_id)
            if (gap := told.get(place.value)) is None:
                lacks = "what was there: the archive has no record, and its source has it no more"
                yield place, fate.but(lacks)
            else:
                yield place, fate._replace(became=Became(gap.kind), why=gap.why).but(gap.untold)

    def _not_as_then(self, batch: Accounted, seen: Seen) -> str:
        """Why the steps may say something else than in its batch; empty if they do not."""
        changed = batch.id <= self.reader.known.same_since
        return "the spec has changed since its batch" if changed else seen.untold

    def _by_counts(self, fate: Fate, batch: Accounted, why: str, *, is_record: bool) -> Fate:
        """By the account of its batch alone."""
        if not is_record and not batch.none("gaps", "unknown"):
            return fate.but(f"what was there: {why}, and its batch had offsets without a record")
        if (entered := by_counts(batch, self.reader.spec)) is None:
            return fate.but(f"whether the steps left it out: {why}")
        became = Became.ACCEPTED if entered else Became.FILTERED
        return fate._replace(became=became).but(f"by which step, or in which rows: {why}")

    def _by_steps(self, fate: Fate, batch: Accounted, seen: Seen) -> Fate:
        entered = by_counts(batch, self.reader.spec)
        if seen.why is not None:
            why = f"today's decoder refuses it ({seen.why}), and its batch did not"
            return fate.but(f"its outcome: {why}")
        if entered is not None and entered != bool(seen.row):
            says = "all" if entered else "none"
            return fate.but(f"its outcome: by the account of its batch {says} entered")
        if seen.row:
            return fate._replace(became=Became.ACCEPTED)
        nothing = "a tombstone, which the topic drops"
        if self.reader.spec.inputs.spread:
            nothing = "its value has no record"
        by = seen.rules or nothing
        if seen.reached != DROPPED:
            by = f"step {seen.reached + 1}: {self.reader.spec.before_state[seen.reached].described}"
        return fate._replace(became=Became.FILTERED, why=by)

    def _seen(
        self, asked: Mapping[Place, Accounted]
    ) -> tuple[Mapping[Place, Seen], Mapping[Place, set[Place]]]:
        """The records, and of copies those that a Deduplicate may have kept."""
        reader, step = self.reader, deduplicates(self.reader.spec)
        # What a step before state has left out is no copy, and nobody looks for its copies.
        may = {p: b for p, b in asked.items() if by_counts(b, reader.spec) is not False}
        if step is None or not may:
            return reader.seen(asked, {}), {}
        table = InTable(reader.spec, reader.known.paths, ())
        for reach in copies.REACHES:
            beside, until = copies.among(reader, step, [*may.values()], reach)
            seen = reader.seen(asked, beside)
            kept = Kept.read(reader.known, parts_of(seen))
            entered = self._entering(kept, {p: each for p, each in seen.items() if each.row})
            told = copies.judged(reader, table, step, entered, may.keys() & entered.keys(), until)
            open_ = (place for place, of in told.items() if of >= {place, copies.UNREAD})
            if until == copies.ANY_TIME or not any(open_):
                break
        return seen, told

    def _entering(self, kept: Kept, seen: Mapping[Place, Seen]) -> dict[Place, tuple[Seen, bool]]:
        """Of records that are good by today's spec those that their batch has not rejected, and
        whether it is known that it has not.
        """
        known, sides = self.reader.known, self.reader.spec.sides
        batch_of = known.of(seen)
        whole = kept.whole(batch_of.values())
        pins = {each.id: self.reader.pins(each) for each in batch_of.values()} if sides else {}
        newest = max((each.id for each in self.asked.values()), default=0)
        return {
            place: (
                seen[place],
                batch.id in whole
                and batch.id > known.same_since
                and (place in self.asked or pins.get(batch.id) == pins.get(newest)),
            )
            for place, batch in batch_of.items()
            if not kept.rejected(place, batch)
        }

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
        others = tuple(sorted(kept - {fate.place, copies.UNREAD}))
        either, beyond = fate._replace(became=Became.EITHER), copies.UNREAD in kept
        if not kept:
            unlike = "the table's rows and the records of its key do not agree"
            return either.but(f"whether it was kept: {unlike}")
        if fate.place in kept:
            lost = "a copy may be where nobody can read it any more"
            return either._replace(copies=others).but(
                f"which copy was kept: {lost if beyond else ANY}"
            )
        fate = fate._replace(became=Became.DUPLICATE, copies=others)
        if any(row["state"] == "swapped" for row in again):
            fate = fate.but("whether a repair has put it into the rows in place of that record")
        if beyond:
            return fate.but("of which record: it may be one that nobody can read any more")
        return fate.but(f"of which of them: {ANY}" if len(others) > 1 else "")
