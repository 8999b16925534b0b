"""Excised: the records that an excision has taken out (excise/), as a checkpoint's failing.json has
them. There may be a million, so they are ranges of offsets, with one reason for all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions

EXCISED: Final = "excised records"
"""What marks and repairs call them, as they call a table beside the stream: no table has this name.
"""
PlacesText = dict[int, str]
"""Partition -> its offsets, ascending: "5-9,12"."""


class Excised(BaseModel):
    """The records of one excision."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    number: int
    """Its number here, from 1: the version of EXCISED that has it."""
    reason: str
    since: Positions
    """Drains refuse those from here on. What was before is in the rows, until a repair."""
    until: Positions
    """Behind the last of them."""
    places: PlacesText

    def read_again_from(self, end: Positions) -> Self:
        """The same, where drains read again from these offsets on."""
        both = self.since.among(end)
        return self.model_copy(update={"since": both.minimum(end.among(both))})


class Offsets:
    """Ranges of offsets of one partition, ascending, each with its last one: columns, since there
    may be many.
    """

    __slots__ = ("first", "last")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self.first, self.last = array("q"), array("q")
        for first, last in ranges:
            self.first.append(first)
            self.last.append(last)

    def has(self, offset: int) -> bool:
        at = bisect_right(self.first, offset) - 1
        return at >= 0 and offset <= self.last[at]

    def within(self, ranges: Iterable[tuple[int, int]]) -> Offsets:
        """Those in these ranges, each without its end."""
        return Offsets(
            (max(first, begin), min(last, stop - 1))
            for begin, stop in ranges
            for first, last in zip(*self._near(begin, stop), strict=True)
        )

    def _near(self, begin: int, stop: int) -> tuple[array[int], array[int]]:
        at = slice(bisect_left(self.last, begin), bisect_left(self.first, stop))
        return self.first[at], self.last[at]

    def __iter__(self) -> Iterator[int]:
        for first, last in zip(self.first, self.last, strict=True):
            yield from range(first, last + 1)

    @property
    def count(self) -> int:
        return sum(self.last) - sum(self.first) + len(self.first)


def text_of(places: Iterable[Place]) -> PlacesText:
    """The places, each once, as a note has them.

    >>> text_of([Place(0, 7), Place(0, 6), Place(0, 9), Place(2, 1)])
    {0: '6-7,9', 2: '1'}
    """
    found = defaultdict[int, list[list[int]]](list)
    for partition, offset in sorted(set(places)):
        ranges = found[partition]
        if ranges and ranges[-1][1] == offset - 1:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    return {
        p: ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
        for p, ranges in found.items()
    }


def offsets_of(text: str, since: int = 0) -> Offsets:
    """The way back, of those from `since` on.

    >>> [*offsets_of("6-7,9", 7)]
    [7, 9]
    """
    parts = (each.partition("-") for each in text.split(","))
    ranges = ((int(first), int(last or first)) for first, _, last in parts)
    return Offsets((max(first, since), last) for first, last in ranges if last >= since)


class Known(NamedTuple):
    """The records of an excision, to be asked for each."""

    reason: str
    places: dict[int, Offsets]
    number: int = 1


class Refused(Mapping[Place, str]):
    """Records that are malformed although they can be decoded -> why: some by name, and those of
    excisions. Goes to executors.
    """

    def __init__(
        self,
        named: Mapping[Place, str],
        excised: Sequence[Known] = (),
        spared: Mapping[Place, int] = MappingProxyType({}),
    ) -> None:
        """`spared`: a record -> the number of the newest excision that it is spared from."""
        self._named, self._excised, self._spared = named, excised, {**spared}

    def at(self, parts: Mapping[int, Iterable[tuple[int, int]]]) -> Refused:
        """The same with the excised records of these offsets alone, each range without its end."""
        some = []
        for each in self._excised:
            near = {p: of.within(parts[p]) for p, of in each.places.items() if p in parts}
            if left := {p: own for p, own in near.items() if own.first}:
                some.append(each._replace(places=left))
        return Refused(self._named, some, self._spared)

    def sparing(self, places: Mapping[Place, int]) -> Refused:
        """Without these, each as far as excisions up to this number have it."""
        named = {place: why for place, why in self._named.items() if place not in places}
        return Refused(named, self._excised, self._spared | {**places})

    @property
    def by_name(self) -> Refused:
        """The same without excised records."""
        return Refused(self._named, (), self._spared)

    @property
    def columns(self) -> tuple[list[int], list[int]]:
        """Partitions and offsets of excised records."""
        places = [*self.places()]
        return [place.partition for place in places], [place.offset for place in places]

    @property
    def whys(self) -> tuple[str, ...]:
        """The reasons of excisions."""
        return tuple(each.reason for each in self._excised)

    def excised(self, place: Place) -> str | None:
        """Why, of one that an excision has named."""
        for why, of, number in self._excised:
            if (
                (own := of.get(place[0]))
                and own.has(place[1])
                and number > self._spared.get(place, 0)
            ):
                return why
        return None

    def __getitem__(self, place: Place) -> str:
        if (why := self.get(place)) is None:
            raise KeyError(place)
        return why

    def get(self, place: Place, default: str | None = None) -> str | None:  # type: ignore[override] # for each record
        why = self._named.get(place)  # an empty one too
        why = self.excised(place) if why is None else why
        return default if why is None else why

    def __iter__(self) -> Iterator[Place]:
        return iter(dict.fromkeys((*self._named, *self.places())))

    def places(self) -> Iterator[Place]:
        """The excised records."""
        for _, of, number in self._excised:
            every = (Place(p, o) for p, own in of.items() for o in own)
            yield from (each for each in every if number > self._spared.get(each, 0))

    def __len__(self) -> int:
        """At most."""
        excised = sum(of.count for each in self._excised for of in each.places.values())
        return len(self._named) + excised


def read(excised: Iterable[Excised], *, coming: bool) -> list[Known]:
    """As Refused has them: all, or those that drains refuse."""
    return [
        Known(
            each.reason,
            {
                p: own
                for p, text in each.places.items()
                if (own := offsets_of(text, each.since.next_of(p) if coming else 0)).first
            },
            each.number,
        )
        for each in excised
        if not coming or each.since.before(each.until)
    ]
