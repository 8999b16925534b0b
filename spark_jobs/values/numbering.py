"""Numbering: one number for each partition of all inputs of a pipeline: the input's number times
PARTITIONS, and the source's own number. So with one input all numbers are its source's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

BITS: Final = 16
"""Of a partition's number, those that the source's own number has."""
PARTITIONS: Final = 2**BITS
"""More partitions than an input has."""
Of = TypeVar("Of")


def input_of(partition: int) -> int:
    """The number of the partition's input.

    >>> input_of(3), input_of(65539)
    (0, 1)
    """
    return partition // PARTITIONS


def own_of(partition: int) -> int:
    """The partition's number in its source.

    >>> own_of(3), own_of(65539)
    (3, 3)
    """
    return partition % PARTITIONS


def numbered_in(number: int, own: int) -> int:
    """The way back.

    >>> numbered_in(1, 3)
    65539
    """
    return number * PARTITIONS + own


def by_input(of: Mapping[int, Of]) -> dict[int, dict[int, Of]]:
    """What is by partition, for each input by its source's own numbers.

    >>> by_input({0: "a", 3: "b", 65539: "c"})
    {0: {0: 'a', 3: 'b'}, 1: {3: 'c'}}
    """
    found: defaultdict[int, dict[int, Of]] = defaultdict(dict)
    for partition, what in of.items():
        found[input_of(partition)][own_of(partition)] = what
    return dict(found)


def within(of: Mapping[int, Of], number: int) -> dict[int, Of]:
    """What is by partition, of this input alone.

    >>> within({0: "a", 3: "b", 65539: "c"}, 1)
    {65539: 'c'}
    """
    return {partition: what for partition, what in of.items() if input_of(partition) == number}


def numbered(of: Iterable[Mapping[int, Of]], inputs: Iterable[int] | None = None) -> dict[int, Of]:
    """The way back of `by_input`: of each input, by its number; without `inputs` they count from 0.

    >>> numbered([{0: "a"}, {3: "c"}])
    {0: 'a', 65539: 'c'}
    """
    numbers = enumerate(of) if inputs is None else zip(inputs, of, strict=True)
    return {numbered_in(number, p): what for number, own in numbers for p, what in own.items()}
