"""Asked: the places that a person asks for."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from spark_jobs.repair.offsets.slices import merged
from spark_jobs.source.place import Place
from spark_jobs.values.spans import any_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.source.positions import Parts
    from spark_jobs.spec.inputs import Topics

MOST: Final = 10_000
"""Records of one question."""


def places(inputs: Topics, texts: Iterable[str]) -> list[Place]:
    """Each once, in order: of texts such as "3:120", "3:120-140" or "3:120,3:130"; "3:120:7" where
    a value has many records.

    Raises ValueError, in words.
    """
    found: dict[Place, None] = {}
    for text in (each.strip() for given in texts for each in given.split(",")):
        if (range_ := inputs.range_of(text)) is None:
            one = f"{inputs[0].name}/PARTITION" if inputs.named else "PARTITION"
            raise ValueError(
                f"{text!r} is no place of a record. Write {one}:OFFSET, or {one}:FIRST-LAST."
            )
        partition, first, last, element = range_
        if last < first:
            raise ValueError(f"{text!r}: its last offset is before its first")
        if len(found) + last - first + 1 > MOST:
            raise ValueError(f"at most {MOST:,} records can be asked for at once")
        offsets = range(first, last + 1)
        found |= dict.fromkeys(Place.at(partition, offset, element) for offset in offsets)
    return sorted(found)


def union(one: Parts, other: Parts) -> Parts:
    """Both, and what is between near ranges of them."""
    return {
        partition: tuple(merged([*one.get(partition, ()), *other.get(partition, ())]))
        for partition in one.keys() | other.keys()
    }


def within(place: Place, parts: Parts) -> bool:
    """Whether one of the ranges has it, which ascend."""
    ranges = parts.get(place[0], ())
    number = bisect_right(ranges, (place[1], 2**63)) - 1
    return number >= 0 and place[1] < ranges[number][1]


def in_parts(parts: Parts, partition: str, first: str, last: str) -> str:
    """SQL for rows whose offsets from `first` to `last` overlap the ranges, or are near them. The
    other arguments are names of columns.
    """
    near = ((number, each) for number, ranges in parts.items() for each in merged(ranges))
    return any_of(
        f"({partition} = {number} AND {last} >= {begin} AND {first} < {stop})"
        for number, (begin, stop) in near
    )
