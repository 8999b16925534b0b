"""Exact: the event times of the records in some slices, read again where they are now."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from spark_jobs.storage.root.paths import Paths
from spark_jobs.where.again import MOST_HERE, Reader
from spark_jobs.where.asked import within
from spark_jobs.where.kept import Kept
from spark_jobs.where.known import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.tune.batches import Slice
    from spark_jobs.tune.shares import Read
    from spark_jobs.where.again import Ask

AT_ONCE: Final = MOST_HERE
"""Offsets."""
MOST: Final = 2_000_000
"""Offsets of one question: some two minutes."""


def read(spec: Pipeline, settings: Settings, ask: Ask, slices: Sequence[Slice]) -> tuple[Read, int]:
    """Of each slice the event times of the records that entered on time; and how many slices nobody
    can read any more, or are beyond MOST. `ask` asks Spark, where the steps before state decide.
    Raises what reading Kafka does, and ask.Failed.
    """
    known = Known.read(Paths(settings.root, spec), spec)
    assert known is not None
    reader = Reader.of(spec, settings, known, ask)
    found: dict[Slice, Sequence[int]] = {}
    lost = 0
    for number, some in enumerate(_portions(slices)):
        if number * AT_ONCE >= MOST:
            lost += len(some)
            continue
        there = [each for each in some if not reader.nowhere(_parts([each]))]
        lost += len(some) - len(there)
        found |= _times(reader, there)
    return found, lost


def _times(reader: Reader, slices: Sequence[Slice]) -> dict[Slice, list[int]]:
    if not slices:
        return {}
    parts, time = _parts(slices), reader.spec.inputs.event_time
    kept = Kept.read(reader.known, parts)
    seen = {
        place: each.row[time]
        for place, each in reader.seen({}, parts, kept.aside).items()
        if each.row and within(place, parts) and kept.rejected(place, None) is None
    }
    of: dict[Slice, list[int]] = {}
    ordered = sorted(slices, key=lambda each: (each.partition, each.first_offset))
    places = iter(sorted(seen))
    place = next(places, None)
    for each in ordered:
        of[each] = []
        while place is not None and (place.partition, place.offset) <= (
            each.partition,
            each.last_offset,
        ):
            of[each].append(seen[place])
            place = next(places, None)
    return of


def _portions(slices: Sequence[Slice]) -> Iterator[list[Slice]]:
    """Of some thousand offsets each."""
    some, offsets = list[Slice](), 0
    for each in slices:
        size = each.last_offset - each.first_offset + 1
        if some and offsets + size > AT_ONCE:
            yield some
            some, offsets = [], 0
        some.append(each)
        offsets += size
    if some:
        yield some


def _parts(slices: Sequence[Slice]) -> Parts:
    found = defaultdict[int, list[tuple[int, int]]](list)
    for each in sorted(slices, key=lambda each: (each.partition, each.first_offset)):
        found[each.partition].append((each.first_offset, each.last_offset + 1))
    return {partition: tuple(ranges) for partition, ranges in found.items()}
