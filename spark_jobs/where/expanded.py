"""Elements: the records of values that have many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.decode.formats import elements_of
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import records
from spark_jobs.source.place import WHOLE, Place
from spark_jobs.where.asked import MOST, parts_of, within
from spark_jobs.where.read import sampled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spark_jobs.where.again import Reader
    from spark_jobs.where.kept import Kept

OTHERS: Final = "what became of its records that are not kept"


def expanded(reader: Reader, kept: Kept, asked: Collection[Place]) -> list[Place]:
    """In place of each value its records; of one that nobody has any more those that are kept, and
    itself. Raises ValueError, in words, for more than MOST, or for an element that a value has not.
    """
    spec, settings = reader.spec, reader.settings
    if not spec.inputs.spread:
        return [*asked]
    [topic] = spec.inputs
    given = prepare(topic, settings.root, settings).given[0]
    by = elements_of(topic, given)
    parts = parts_of(asked)
    lost = reader.nowhere(parts)
    there = parts_of([place for place in asked if not within(place, lost)])
    read = {p: each for p, each in sampled(settings, spec, there).items() if within(p, there)}
    of = {
        place: [Place.at(*place[:2], each.number) for each in elements]
        for place, elements in zip(read, by.of(records([*read.values()])), strict=True)
    }
    found: dict[Place, None] = {}
    for place in asked:
        found |= dict.fromkeys(_of_one(place, of, kept))
        if len(found) > MOST:
            raise ValueError(f"at most {MOST:,} records can be asked for at once")
    return sorted(found)


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
