"""Exact: the event times of the records in some slices, read again where they are now."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from spark_jobs.source.place import Place
from spark_jobs.storage.root.paths import Paths
from spark_jobs.tune.batches import Slice
from spark_jobs.where.again import MOST_HERE, Reader
from spark_jobs.where.kept import Kept, Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.tune.shares import Read
    from spark_jobs.where.again import Ask

AT_ONCE: Final = MOST_HERE
"""Offsets."""
MOST: Final = 2_000_000
"""Offsets of one question: some two minutes."""


def read(spec: Pipeline, settings: Settings, ask: Ask, slices: Sequence[Slice]) -> tuple[Read, str]:
    """Of each slice the event times of the records that entered on time; and why some slices are
    not among them. `ask` asks Spark, where the steps before state decide. Raises what reading Kafka
    does, and ask.Failed.
    """
    known = Known.read(Paths(settings.root, spec), spec)
    assert known is not None
    reader = Reader.of(spec, settings, known, ask)
    found: dict[Slice, Sequence[int]] = {}
    lost = Counter[str]()
    for number, some in enumerate(_portions(slices)):
        if number * AT_ONCE >= MOST:
            lost[f"no more than {MOST:,} offsets are read"] += len(some)
            continue
        there = [each for each in some if not reader.nowhere(_parts([each]))]
        if len(there) < len(some):
            lost[reader.why_not or "Kafka is past them"] += len(some) - len(there)
        found |= _times(reader, there)
    why = (f"{count:,} slices keep their bounds: {each}" for each, count in lost.items())
    return found, "; ".join(why)


def _times(reader: Reader, slices: Sequence[Slice]) -> dict[Slice, list[int]]:
    of = {
        Place(each.partition, offset): each
        for each in slices
        for offset in range(each.first_offset, each.last_offset + 1)
    }
    time, kept = reader.spec.inputs.event_time, Kept.read(reader.known, _parts(slices))
    seen = reader.seen(reader.known.of(of), {}) if of else {}
    found: dict[Slice, list[int]] = {each: [] for each in slices}
    for place, record in seen.items():
        if record.row and place.value in of and not kept.rejected(place, None):
            found[of[place.value]].append(record.row[time])
    return found


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
