"""Elements of a format that is read by a schema: the records of a value that has many, each as
objects of Python.

What such an element has as bytes is made here, and read here: of no producer.
"""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.formats import TOMBSTONE, Decoded, Element, Records, decoder_class
from spark_jobs.decode.schemed.objects import Objects, Read
from spark_jobs.decode.schemed.registered import HEAD
from spark_jobs.decode.schemed.unreadable import Unreadable
from spark_jobs.spec.fields.each import levels, missing, needed
from spark_jobs.values.own_columns import EMPTY
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spark_jobs.decode.schemed.registered import Given
    from spark_jobs.spec import Format, Topic
    from spark_jobs.spec.fields.place import Place
    from spark_jobs.values.path import Path

HELD: Final = {(each.__module__, each.__name__) for each in (
    datetime, date, timedelta, timezone, Decimal, Unreadable,
)}  # fmt: skip
"""Classes of values, beside those that pickle knows itself."""
AT_ONCE: Final = 4_000_000
"""Bytes of values that are objects at a time, beside one value."""


class Wholes(Objects):
    """Keeps what is at the top of each value, in place of columns of it."""

    alone = True

    def __init__(self, tops: Sequence[str]) -> None:
        self.places, self.wanted, self.tops, self.raw = (), (), tuple(tops), frozenset()
        self.kept: list[dict[str, Any]] = []

    def columns(self, read: Read, count: int) -> Decoded:
        """The number of each in `kept`."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans does not need it

        first = len(self.kept)
        self.kept += [{name: values[n] for name, values in read.tops.items()} for n in range(count)]
        numbers = pa.array(range(first, first + count), pa.int64())
        return Decoded([numbers], [read.wrong.get(index) for index in range(count)])


class _Own(pickle.Unpickler):
    """Of what a schema gives alone: bytes of somebody else call nothing here."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in HELD:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


class ObjectsDecoder:
    """The decoder of such elements, as the port has it."""

    def __init__(
        self, _: Format, places: Sequence[Place], wanted: Sequence[str], given: Given | None
    ) -> None:
        self._objects = Objects(places, wanted)
        self._start = _start(given)

    @staticmethod
    def prepare(*_: object) -> None:
        """The format's decoder has."""

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        values = records.values.to_pylist()
        made = [_Own(BytesIO(value[self._start :])).load() if value else {} for value in values]
        tops = {name: [each.get(name) for each in made] for name in self._objects.tops}
        wrong = {n: TOMBSTONE for n, value in enumerate(values) if value is None}
        return self._objects.columns(Read(tops, {}, wrong), len(values))


class _Level(NamedTuple):
    """What one list is in."""

    way: Path
    keys: tuple[str, ...]
    up: int

    def around(self, of: Mapping[str, Any]) -> dict[str, Any]:
        """What fields need of it, as a member of an element's object."""
        return {str(self.up): {key: of.get(key) for key in self.keys}} if self.keys else {}

    def members(self, of: Any) -> list[Any] | None:
        """The list; None if it is missing or null. Raises Wrong where something else is."""
        at = of
        for key in self.way:
            if not isinstance(at, dict):
                raise Wrong(f"{key} is in no record")
            if (at := at.get(key)) is None:
                return None
        if not isinstance(at, list):
            raise Wrong(f"{as_text(self.way)} is no array")
        return at


class SchemedElements:
    """As the port has it."""

    decoder = ObjectsDecoder

    def __init__(self, topic: Topic, given: Given | None) -> None:
        assert topic.each is not None
        ways, keys = levels(topic.each), needed(topic.fields)
        self._levels = [
            _Level(way, keys.get(len(ways) - n, ()), len(ways) - n) for n, way in enumerate(ways)
        ]
        first = self._levels[0]
        self._wholes = Wholes(tuple(dict.fromkeys((*map(str, first.way[:1]), *first.keys))))
        kind: Any = decoder_class(topic.format)
        self._values = kind(topic.format, (), (), given, self._wholes)
        self._head = _start(given)

    def of(self, records: Records) -> Iterator[list[Element]]:
        """As the port has it."""
        for some in _parts(records):
            self._wholes.kept = []
            [numbers], reasons = self._values.decode(some)
            for number, why, value in zip(numbers.to_pylist(), reasons, some.values, strict=True):
                if not value.is_valid:
                    yield [Element(None, None)]
                elif why:
                    yield [Element(None, None, why)]
                else:
                    head = value.as_py()[: self._head]
                    yield self._of_one(self._wholes.kept[number], head)

    def _of_one(self, value: dict[str, Any], head: bytes) -> list[Element]:
        first = self._levels[0]
        if not first.way:
            return [Element(None, None, "it is a record, and no list of records")]
        try:
            members = first.members(value)
        except Wrong as error:
            return [Element(None, None, f"`$.{as_text(first.way)}`: {error}")]
        if members is None:
            return [Element(None, None, missing(first.way))]
        found = list[Element]()
        self._add(found, 1, members, first.around(value), head)
        return found or [Element(EMPTY, None)]

    def _add(
        self,
        found: list[Element],
        depth: int,
        members: Sequence[Any],
        around: dict[str, Any],
        head: bytes,
    ) -> None:
        if depth == len(self._levels):
            for number, each in enumerate(members, len(found)):
                found.append(Element(number, head + pickle.dumps({"0": each, **around}, 5)))
            return
        level = self._levels[depth]
        for each in members:
            try:
                inner, more = level.members(each), level.around(each)
            except Wrong as error:
                why = f"what its list is in, {len(self._levels) - depth} further out: {error}"
                found.append(Element(len(found), None, why))
            else:
                self._add(found, depth + 1, inner or (), around | more, head)


def _start(given: Given | None) -> int:
    """Bytes in front of a value: of the id of its schema."""
    return HEAD if given is not None and not given.header else 0


def _parts(records: Records) -> Iterator[Records]:
    """Of some values each."""
    ends, size = [0], 0
    for n, value in enumerate(records.values):
        size += len(value.as_buffer() or b"") if value.is_valid else 0
        if size >= AT_ONCE:
            ends.append(n + 1)
            size = 0
    if ends[-1] < len(records.values):
        ends.append(len(records.values))
    for first, stop in pairwise(ends):
        yield records.at(range(first, stop))
