"""Elements: the records of values that have many."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.formats import taken_apart
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import records
from spark_jobs.launch.question import Failed
from spark_jobs.repair.offsets.archived import located
from spark_jobs.source.place import WHOLE, Place
from spark_jobs.source.positions import parts_of
from spark_jobs.where.asked import MOST, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.where.again import Reader
    from spark_jobs.where.kept import Kept
    from spark_jobs.where.known import Accounted

OTHERS: Final = "what became of its records that are not kept"


def expanded(reader: Reader, kept: Kept, asked: Mapping[Place, Accounted]) -> list[Place]:
    """In place of each value its records; of one that nobody has any more those that are kept, and
    itself. Raises ValueError, in words, for more than MOST, or for an element that a value has not.
    """
    if not reader.spec.inputs.spread:
        return [*asked]
    lost = reader.nowhere(parts_of(asked))
    there = {place: batch for place, batch in asked.items() if not within(place, lost)}
    of, found = _elements(reader, there), dict[Place, None]()
    for place in asked:
        found |= dict.fromkeys(_of_one(place, of, kept))
        if len(found) > MOST:
            raise ValueError(f"at most {MOST:,} records can be asked for at once")
    return sorted(found)


def _elements(reader: Reader, there: Mapping[Place, Accounted]) -> dict[Place, list[Place]]:
    """Value -> its records: by the client, or by Spark of what only an archive has."""
    [topic] = reader.spec.inputs
    given = prepare(topic, reader.settings.root, reader.settings).given[0]
    near = located(parts_of(there), {}, reader.earliest).source
    sample = [*reader.sampled(near)]
    taken = taken_apart(records(sample), topic, given)
    of = defaultdict[Place, list[Place]](list)
    for parent, each in zip(taken.parents, taken.of or (), strict=True):
        value = Place(sample[parent].partition, sample[parent].offset)
        if within(value, near):
            of[value].append(Place.at(*value[:2], each.number))
    away = {place: batch for place, batch in there.items() if not within(place, near)}
    try:
        seen = reader.seen(away, {}) if away else {}
    except Failed as failed:  # their outcome will say so, too
        if not failed.why:
            raise
        seen = {}
    for place in sorted(seen):
        of[place.value].append(place)
    return of


def _of_one(place: Place, of: dict[Place, list[Place]], kept: Kept) -> Iterable[Place]:
    records = of.get(place.value)
    if place.element != WHOLE:
        if records is not None and place not in records:
            raise ValueError(f"{place.text()}: its value has {len(records):,} records, from 0 on")
        return [place]
    if records is not None:
        return records
    every = (kept.late, kept.quarantine, kept.merged)
    return [place, *{each for rows in every for each in rows if each.value == place}]
