"""Asked: the places that a person asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.source.micro_batch import Parts
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.where.fate import Place

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
        found |= dict.fromkeys((partition, offset) for offset in range(first, last + 1))
    return sorted(found)


def parts_of(asked: Iterable[Place]) -> Parts:
    """The same, as ranges of offsets.

    >>> parts_of([(0, 7), (0, 8), (0, 10), (1, 0)])
    {0: ((7, 9), (10, 11)), 1: ((0, 1),)}
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for partition, offset in sorted(asked):
        ranges = found.setdefault(partition, [])
        if ranges and ranges[-1][1] == offset:
            ranges[-1] = (ranges[-1][0], offset + 1)
        else:
            ranges.append((offset, offset + 1))
    return {partition: tuple(ranges) for partition, ranges in found.items()}
