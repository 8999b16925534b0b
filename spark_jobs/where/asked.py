"""Asked: the places that a person asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_jobs.source.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.source.positions import Parts
    from spark_jobs.spec.inputs import Topics

MOST: Final = 10_000
"""Records of one question."""


def places(inputs: Topics, texts: Iterable[str]) -> list[Place]:
    """Each once, in order: of texts such as "3:120", "3:120-140" or "3:120,3:130".

    Raises ValueError, in words.
    """
    found: dict[Place, None] = {}
    for text in (each.strip() for given in texts for each in given.split(",")):
        if (range_ := inputs.range_of(text)) is None:
            one = f"{inputs[0].name}/PARTITION" if inputs.named else "PARTITION"
            raise ValueError(
                f"{text!r} is no place of a record. Write {one}:OFFSET, or {one}:FIRST-LAST."
            )
        partition, first, last = range_
        if last < first:
            raise ValueError(f"{text!r}: its last offset is before its first")
        if len(found) + last - first + 1 > MOST:
            raise ValueError(f"at most {MOST:,} records can be asked for at once")
        found |= dict.fromkeys(Place(partition, offset) for offset in range(first, last + 1))
    return sorted(found)


def parts_of(asked: Iterable[Place]) -> Parts:
    """The same, as ranges of offsets.

    >>> parts_of([Place(0, 7), Place(0, 8), Place(0, 10), Place(1, 0)])
    {0: ((7, 9), (10, 11)), 1: ((0, 1),)}
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for place in sorted(asked):
        ranges = found.setdefault(place.partition, [])
        if ranges and ranges[-1][1] == place.offset:
            ranges[-1] = (ranges[-1][0], place.offset + 1)
        else:
            ranges.append((place.offset, place.offset + 1))
    return {partition: tuple(ranges) for partition, ranges in found.items()}
