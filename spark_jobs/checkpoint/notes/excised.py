"""Excised: the records that an excision has taken out (excise/), as a checkpoint's failing.json has
them. There may be a million, so they are ranges of numbers, with one reason for all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions

EXCISED: Final = "excised records"
"""What marks and repairs call them, as they call a table beside the stream: no table has this name.
"""
PER_VALUE: Final = 2**20
"""Numbers of a value: the first is of all of it, the others of its elements."""
FAR: Final = PER_VALUE - 2
"""Elements from this one on share the last number: no excision has one."""
PlacesText = dict[int, str]
"""Partition -> its offsets, ascending: "5-9,12"; of elements "12:0-3,12:7"."""


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

    def known(self, *, coming: bool) -> Known:
        """As Refused has them: all, or those that drains refuse."""
        places = Places.told(self.places)
        return Known(self.reason, places.behind(self.since) if coming else places, self.number)

    def read_again_from(self, end: Positions) -> Self:
        """The same, where drains read again from these offsets on."""
        both = self.since.among(end)
        return self.model_copy(update={"since": both.minimum(end.among(both))})


class Places:
    """Of many records: ranges of numbers, ascending. The numbers where they begin and end stand in
    turns, so that an odd count of them is before a number that is in one.
    """

    __slots__ = ("_of",)

    def __init__(self, ends: Mapping[int, Iterable[int]]) -> None:
        """By partition."""
        every = ((partition, array("q", own)) for partition, own in ends.items())
        self._of = {partition: own for partition, own in every if own}

    @classmethod
    def told(cls, texts: PlacesText) -> Self:
        """As a note has them."""
        return cls({partition: _ends(text) for partition, text in texts.items()})

    def __contains__(self, place: Place) -> bool:
        own = self._of.get(place.partition, ())
        return bisect_right(own, _number(place)) % 2 == 1

    def within(self, parts: Mapping[int, Iterable[tuple[int, int]]]) -> Places:
        """Those at these offsets."""
        return Places({p: _cut(self._of[p], of) for p, of in parts.items() if p in self._of})

    def behind(self, since: Positions) -> Places:
        """Those at these offsets and behind them."""
        return self.within(since.parts(self.until))

    def passed(self, since: Positions) -> int:
        """How many of them are before these offsets."""
        return len(self) - len(self.behind(since))

    @property
    def until(self) -> Positions:
        """The offsets behind the last of them."""
        return Positions({p: -(-own[-1] // PER_VALUE) for p, own in self._of.items()})

    def __iter__(self) -> Iterator[Place]:
        for partition, numbers in self._numbers():
            yield from (Place(partition, n // PER_VALUE, n % PER_VALUE - 1) for n in numbers)

    def __bool__(self) -> bool:
        return bool(self._of)

    def __len__(self) -> int:
        return sum(len(numbers) for _, numbers in self._numbers())

    def _numbers(self) -> Iterator[tuple[int, range]]:
        for partition, own in self._of.items():
            for begin, end in zip(own[::2], own[1::2], strict=True):
                yield partition, range(begin, end, 1 if begin % PER_VALUE else PER_VALUE)


def text_of(places: Iterable[Place]) -> PlacesText:
    """The places, each once, as a note has them.

    >>> text_of([Place(0, 7), Place(0, 6), Place(0, 9), Place(2, 1, 3), Place(2, 1, 4)])
    {0: '6-7,9', 2: '1:3-4'}
    """
    found = defaultdict[int, list[list[Place]]](list)
    for place in sorted({*places}):
        ranges = found[place.partition]
        step = PER_VALUE if place.number is None else 1
        if ranges and _number(ranges[-1][1]) + step == _number(place):
            ranges[-1][1] = place
        else:
            ranges.append([place, place])
    return {p: ",".join(_text(*of) for of in ranges) for p, ranges in found.items()}


def _number(place: Place) -> int:
    return place.offset * PER_VALUE + min(place.element, FAR) + 1


def _text(first: Place, last: Place) -> str:
    whole = first.number is None
    ends = (first.offset, last.offset) if whole else (first.element, last.element)
    return ("" if whole else f"{first.offset}:") + "-".join(map(str, dict.fromkeys(ends)))


def _ends(text: str) -> Iterator[int]:
    for each in text.split(","):
        value, _, elements = each.partition(":")
        first, _, last = (elements or value).partition("-")
        step, base = (1, int(value) * PER_VALUE + 1) if elements else (PER_VALUE, 0)
        yield base + int(first) * step
        yield base + (int(last or first) + 1) * step


def _cut(ends: Sequence[int], ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    for first, stop in ranges:
        low, high = first * PER_VALUE, stop * PER_VALUE
        begin = bisect_right(ends, low)
        end = bisect_left(ends, high, begin)
        if begin % 2:
            yield low
        yield from ends[begin:end]
        if end % 2:
            yield high


class Known(NamedTuple):
    """The records of an excision, to be asked for each."""

    reason: str
    places: Places
    number: int = 1


@dataclass(frozen=True, eq=False)
class Refused(Mapping[Place, str]):
    """Records that are malformed although they can be decoded -> why. Goes to executors."""

    named: Mapping[Place, str]
    known: Sequence[Known] = ()
    spared: Mapping[Place, int] = field(default_factory=dict)
    """A record -> the number of the newest excision that it is spared from."""

    def at(self, parts: Mapping[int, Iterable[tuple[int, int]]]) -> Self:
        """The same with the excised records of these offsets alone."""
        near = (each._replace(places=each.places.within(parts)) for each in self.known)
        return replace(self, known=[each for each in near if each.places])

    def sparing(self, places: Mapping[Place, int]) -> Self:
        """Without these, each as far as excisions up to this number have it."""
        named = {place: why for place, why in self.named.items() if place not in places}
        return replace(self, named=named, spared={**self.spared, **places})

    def beside(self, named: Mapping[Place, str]) -> Self:
        """With these too."""
        return replace(self, named={**named, **self.named})

    def excised(self, place: Place) -> str | None:
        """Why, of one that an excision has named."""
        having = (each for each in self.known if place in each.places)
        return next((why for why, _, n in having if n > self.spared.get(place, 0)), None)

    def __getitem__(self, place: Place) -> str:
        why = self.named.get(place)  # an empty one too
        if why is None and place.number is not None and place not in self.spared:
            why = self.named.get(place.value)
        why = self.excised(place) if why is None else why
        if why is None:
            raise KeyError(place)
        return why

    def __iter__(self) -> Iterator[Place]:
        return iter(dict.fromkeys((*self.named, *self.places())))

    def places(self) -> Iterator[Place]:
        """The excised records, each once an excision."""
        for _, places, number in self.known:
            yield from (each for each in places if number > self.spared.get(each, 0))

    def most(self, *, spread: bool) -> int | None:
        """How many records excisions name, at most. None where values are taken apart (`spread`),
        and one is named as a whole: of its records nobody knows how many there are.
        """
        unknown = spread and any(each.number is None for each in self.places())
        return None if unknown else sum(1 for _ in self.places())

    def __bool__(self) -> bool:
        """Whether it may have one. Asked for each part of a batch, so it counts no million."""
        return bool(self.named) or any(each.places for each in self.known)

    def __len__(self) -> int:
        """At most."""
        return len(self.named) + sum(len(each.places) for each in self.known)
