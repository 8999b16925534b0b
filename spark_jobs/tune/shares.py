"""Shares: how many records of the batches would have been late with a delay, between two bounds;
and the event times of the records that must be read again to count exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.source.place import Place
from spark_jobs.source.positions import parts_of
from spark_jobs.where.again import MOST_HERE
from spark_jobs.where.kept import Kept

if TYPE_CHECKING:
    from spark_jobs.spec.analysis.late_rule import Timely
    from spark_jobs.tune.batches import Slice, Timed
    from spark_jobs.where.again import Reader

AT_ONCE: Final = MOST_HERE // 2
"""Offsets, and those of one slice more."""
MOST: Final = 2_000_000
"""Offsets of one question: some two minutes."""
Read = Mapping["Slice", Sequence[int]]
"""Slices whose records were read again -> their event times, of those that entered on time."""


class Late(NamedTuple):
    """Of records that entered."""

    least: int = 0
    most: int = 0
    entered: int = 0

    @property
    def shares(self) -> tuple[float, float]:
        all_ = max(1, self.entered)
        return self.least / all_, self.most / all_


def total(of: Iterable[Late]) -> Late:
    """Of all these batches."""
    return Late(*map(sum, zip(*of, strict=True)))


def late(batch: Timed, rule: Timely, read: Read) -> Late:
    """Of one batch. What was late in it is kept record by record. Of what was not, the slices tell
    the first and the last time; a record of one of them that is judged otherwise had to be read.
    """
    first = rule(batch.newest)
    was, entered = int(batch.row["late"]), batch.entered
    kept = sum(time < first for time in batch.late)
    if first <= batch.missed:
        return Late(kept, min(was, kept + max(0, was - len(batch.late))), entered)
    of_slices = [_of_slice(batch, each, first, read) for each in batch.slices]
    least, most = map(sum, zip(*(of_slices or [(0, entered - was)]), strict=True))
    return Late(was + min(least, entered - was), was + min(most, entered - was), entered)


def _of_slice(batch: Timed, each: Slice, first: int, read: Read) -> tuple[int, int]:
    """Of the records that were not late, how many have a time before `first`."""
    if first <= each.first:
        return 0, 0
    if each in read:
        found = sum(time < first for time in read[each])
        return found, found
    least = max(0, each.records - batch.doubtful(each)) if each.last < first else 0
    return least, each.records


def undecided(batches: Iterable[Timed], rules: Collection[Timely]) -> list[Slice]:
    """The slices whose records must be read to count exactly by each of the rules."""
    found = []
    for batch in batches:
        firsts = [first for rule in rules if (first := rule(batch.newest)) > batch.missed]
        for each in batch.slices:
            unsure = batch.doubtful(each) > 0
            if any(each.first < n and (unsure or n <= each.last) for n in firsts):
                found.append(each)
    return found


def read(reader: Reader, slices: Sequence[Slice]) -> tuple[Read, str]:
    """Of each slice the event times of the records that entered on time; and why some slices are
    not among them. Raises what reading Kafka does, and ask.Failed.
    """
    there = [each for each in slices if not reader.nowhere(each.parts)]
    sizes = accumulate(each.last_offset - each.first_offset + 1 for each in there)
    few = [(each, size // AT_ONCE) for each, size in zip(there, sizes, strict=True) if size <= MOST]
    found: dict[Slice, Sequence[int]] = {}
    for _, some in groupby(few, lambda each: each[1]):
        found |= _times(reader, [each for each, _ in some])
    if not (lost := len(slices) - len(few)):
        return found, ""
    why = reader.why_not or f"Kafka is past them, or they are behind the first {MOST:,} offsets"
    return found, f"{lost:,} slices keep their bounds: {why}"


def _times(reader: Reader, slices: Sequence[Slice]) -> dict[Slice, list[int]]:
    of = {
        Place(each.partition, offset): each
        for each in slices
        for offset in range(each.first_offset, each.last_offset + 1)
    }
    time, kept = reader.spec.inputs.event_time, Kept.read(reader.known, parts_of(of))
    found: dict[Slice, list[int]] = {each: [] for each in slices}
    for place, record in reader.seen(reader.known.of(of), {}).items():
        if record.row and place.value in of and not kept.rejected(place, None):
            found[of[place.value]].append(record.row[time])
    return found
