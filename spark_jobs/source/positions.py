"""Positions: how far a reader of a source has come. Only sources look into them: others compare,
count and cut them by name, and keep them as JSON.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

from spark_jobs.source.place import Place
from spark_jobs.values.numbering import by_input, input_of, numbered, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Set

    from pydantic import GetCoreSchemaHandler

Offset = tuple[int, int]
"""Offsets of one partition, from the first one up to the second one, which is not among them."""
Parts = dict[int, tuple[Offset, ...]]
"""Partition -> ranges of offsets, ascending. A partition without any is not among them."""


def parts_of(places: Iterable[Place]) -> Parts:
    """The places as ranges of offsets.

    >>> parts_of([Place(0, 7), Place(0, 8), Place(0, 10), Place(1, 0)])
    {0: ((7, 9), (10, 11)), 1: ((0, 1),)}
    """
    found: dict[int, list[Offset]] = {}
    for partition, offset in sorted({place[:2] for place in places}):
        ranges = found.setdefault(partition, [])
        if ranges and ranges[-1][1] == offset:
            ranges[-1] = (ranges[-1][0], offset + 1)
        else:
            ranges.append((offset, offset + 1))
    return {partition: tuple(ranges) for partition, ranges in found.items()}


class Positions:
    """In each partition the next record to read. Immutable. A partition that is not among them
    begins at 0.
    """

    __slots__ = ("by_partition",)

    by_partition: Mapping[int, int]
    """Partition -> the next offset. For sources alone."""

    def __init__(self, by_partition: Mapping[int, int] = MappingProxyType({})) -> None:
        self.by_partition = dict(by_partition)

    @classmethod
    def of_json(cls, text: str | None) -> Positions:
        """The way back of `json`; none of null or an empty text."""
        return cls.of_named(json.loads(text or "{}"))

    @classmethod
    def of_named(cls, named: Mapping[str, int]) -> Positions:
        """The way back of `named`."""
        return cls({int(partition): at for partition, at in named.items()})

    @property
    def json(self) -> str:
        """As the ops tables keep them: partition -> next offset."""
        return json.dumps(self.named)

    @property
    def named(self) -> dict[str, int]:
        """As reports and events have them: the partition's number as text -> next offset."""
        return {str(partition): at for partition, at in self.by_partition.items()}

    def text(self, shown: Callable[[int], str] = str) -> str:
        """For a reader; `shown` names a partition.

        >>> Positions({1: 9, 0: 1200}).text()
        '0: 1,200  1: 9'
        """
        return "  ".join(f"{shown(p)}: {at:,}" for p, at in sorted(self.by_partition.items()))

    def told(self, partition: int) -> str:
        """Its next offset, for a reader."""
        return str(self.next_of(partition))

    def next_of(self, partition: int) -> int:
        """Its next offset."""
        return self.by_partition.get(partition, 0)

    @property
    def partitions(self) -> tuple[int, ...]:
        """Their numbers, ascending."""
        return tuple(sorted(self.by_partition))

    def within(self, number: int) -> Positions:
        """In the partitions of this input alone. See values/numbering.py."""
        return Positions(within(self.by_partition, number))

    def of_these(self, inputs: Set[int]) -> Positions:
        """In the partitions of these inputs alone."""
        return Positions({p: at for p, at in self.by_partition.items() if input_of(p) in inputs})

    def of_inputs(self) -> dict[int, Positions]:
        """Input -> these, by its source's own numbers."""
        return {number: Positions(own) for number, own in by_input(self.by_partition).items()}

    @classmethod
    def of_all(cls, of: Iterable[Positions], inputs: Iterable[int] | None = None) -> Positions:
        """The way back of `of_inputs`; without `inputs` they count from 0."""
        return cls(numbered((each.by_partition for each in of), inputs))

    @property
    def inputs(self) -> set[int]:
        """The numbers of the inputs that have a partition here."""
        return {*map(input_of, self.by_partition)}

    def passed(self, place: Place) -> bool:
        """Whether the reader has passed it.

        >>> Positions({0: 5}).passed(Place(0, 4)), Positions({0: 5}).passed(Place(0, 5))
        (True, False)
        """
        partition, offset = place[:2]
        return offset < self.by_partition.get(partition, 0)

    def passed_sql(self, partitions: Iterable[int]) -> str:
        """SQL over the columns partition and offset: whether it is a record of these partitions
        that the reader has passed.
        """
        return " OR ".join(
            f'("partition" = {p} AND "offset" < {self.by_partition.get(p, 0)})' for p in partitions
        )

    def before(self, until: Positions) -> bool:
        """Whether there are records up to `until`."""
        return self.count(until) > 0

    def count(self, until: Positions) -> int:
        """How many offsets there are from these up to `until`.

        >>> Positions({0: 5, 1: 9}).count(Positions({0: 7, 1: 2, 2: 4}))
        6
        """
        return sum(self.counts(until).values())

    def counts(self, until: Positions) -> dict[int, int]:
        """The same by partition, of all that `until` has."""
        return {
            p: max(0, end - self.by_partition.get(p, 0)) for p, end in until.by_partition.items()
        }

    def parts(self, until: Positions) -> Parts:
        """The offsets from these up to `until`.

        >>> Positions({0: 5}).parts(Positions({0: 7, 1: 2}))
        {0: ((5, 7),), 1: ((0, 2),)}
        """
        ends = sorted(until.by_partition.items())
        found = {p: (self.by_partition.get(p, 0), end) for p, end in ends}
        return {p: (part,) for p, part in found.items() if part[0] < part[1]}

    def first(self, until: Positions) -> list[Place]:
        """The first place of each of these parts."""
        return [Place(p, first) for p, [(first, _)] in self.parts(until).items()]

    def cut(self, parts: Parts) -> Parts:
        """Of the parts what is before these."""
        return self._kept(parts, lambda part, at: (part[0], min(part[1], at)))

    def rest(self, parts: Parts) -> Parts:
        """Of the parts what is not before these."""
        return self._kept(parts, lambda part, at: (max(part[0], at), part[1]))

    def _kept(self, parts: Parts, kept: Callable[[Offset, int], Offset]) -> Parts:
        cut = {
            p: [kept(part, self.by_partition.get(p, 0)) for part in of] for p, of in parts.items()
        }
        left = {p: tuple(part for part in of if part[0] < part[1]) for p, of in cut.items()}
        return {p: of for p, of in left.items() if of}

    def reaching(self, parts: Parts) -> Parts:
        """Of each partition the range that reaches these, up to here.

        >>> Positions({0: 7, 1: 9}).reaching({0: ((2, 4), (5, 7)), 1: ((0, 8),)})
        {0: ((5, 7),)}
        """
        ranges = ((p, at, part) for p, at in self.by_partition.items() for part in parts.get(p, ()))
        return {p: ((first, at),) for p, at, (first, stop) in ranges if first < at <= stop}

    def above(self, other: Positions) -> Positions:
        """In the partitions where the other has a lower one."""
        others = other.by_partition
        kept = {p: at for p, at in self.by_partition.items() if at > others.get(p, at)}
        return Positions(kept)

    def among(self, others: Positions) -> Positions:
        """In the partitions that the others have."""
        kept = others.by_partition
        return Positions({p: at for p, at in self.by_partition.items() if p in kept})

    def minimum(self, other: Positions) -> Positions:
        """The lower in each partition that both have; else the one that is there."""
        return self._both(other, min)

    def maximum(self, other: Positions) -> Positions:
        """The higher in each partition that both have; else the one that is there."""
        return self._both(other, max)

    def _both(self, other: Positions, chosen: Callable[[int, int], int]) -> Positions:
        mine = self.by_partition
        both = {p: chosen(at, mine.get(p, at)) for p, at in other.by_partition.items()}
        return Positions({**mine, **both})

    def share(self, until: Positions, n: int, of: int) -> Positions:
        """In each partition of `until`, after `n` of `of` equal shares of the way there."""
        starts = {p: self.by_partition.get(p, 0) for p in until.by_partition}
        ends = until.by_partition
        return Positions({p: at + (ends[p] - at) * n // of for p, at in starts.items()})

    def back(self, offsets: int) -> Positions:
        """So many offsets earlier in each partition, and not below 0."""
        return Positions({p: max(0, at - offsets) for p, at in self.by_partition.items()})

    def __or__(self, other: Positions) -> Positions:
        """The other's; in a partition that it does not have, these."""
        return Positions({**self.by_partition, **other.by_partition})

    def __bool__(self) -> bool:
        return bool(self.by_partition)

    def __len__(self) -> int:
        """How many partitions."""
        return len(self.by_partition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Positions) and self.by_partition == other.by_partition

    def __hash__(self) -> int:
        return hash(frozenset(self.by_partition.items()))

    def __repr__(self) -> str:
        return repr(self.by_partition)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """In a note: partition -> next offset."""
        of_note = handler.generate_schema(dict[int, int])
        read = core_schema.no_info_after_validator_function(cls, of_note)
        written = core_schema.plain_serializer_function_ser_schema(
            lambda made: made.by_partition, return_schema=of_note
        )
        known = core_schema.is_instance_schema(cls)
        return core_schema.union_schema([known, read], serialization=written)
