"""Unnamed keys: the keys of a topic's records that no field names, found in some of the records.

To look at a record costs about half of what its decoding does, so a task looks at few of many: of
50 at least, and of one in 200. An object that a field has whole, as text or as a map, is not looked
into, nor is an array.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from spark_jobs.decode.formats import REFUSED
from spark_jobs.spec import Json
from spark_jobs.values.path import Path, as_text
from spark_jobs.values.times import utc
from spark_jobs.values.type_tree import Array, Struct, Type

if TYPE_CHECKING:
    from spark_jobs.decode.formats import Records
    from spark_jobs.spec import Topic

KELVIN: Final = "\N{KELVIN SIGN}".encode()
"""The only letter outside of ASCII whose lower case is in it: k."""


class Names:
    """The keys of a topic's records, on every level."""

    def __init__(self) -> None:
        self.keys: dict[str, Names] = {}
        self.items: Names | None = None
        """Of the members of an array."""

    def put(self, path: Path, tree: Type | None = None) -> None:
        """Add those of a path, and of the type at its end."""
        at = self
        for step in path:
            if isinstance(step, str):
                at = at.keys.setdefault(step, Names())
            else:
                at.items = at.items or Names()
                at = at.items
        if tree is not None:
            _put_type(at, tree)

    def wrong(self, value: bytes) -> str | None:
        """What is said of the first key in the wrong case; None if there is none."""
        try:
            record = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return _wrong(self, record, ())


def _put_type(names: Names, tree: Type) -> None:
    """The keys of a type. Those of a map are values."""
    if isinstance(tree, Array):
        names.items = names.items or Names()
        _put_type(names.items, tree.element)
    elif isinstance(tree, Struct):
        for name, each in tree.members:
            _put_type(names.keys.setdefault(name, Names()), each)


def _wrong(names: Names, found: Any, path: Path) -> str | None:
    """Of a part of a record, which is at this path. Any: what JSON has."""
    if isinstance(found, list) and names.items is not None:
        parts = (_wrong(names.items, each, (*path, n)) for n, each in enumerate(found))
        return next(filter(None, parts), None)
    if not isinstance(found, dict) or not names.keys:
        return None
    lower = {name.lower(): name for name in names.keys if name not in found}
    for key, value in found.items():
        if key not in names.keys and key.lower() in lower:
            right = as_text((*path, lower[key.lower()]))
            told = as_text((*path, key)) if path else key
            return f"key {told!r} is in the wrong case: the field is {right!r}"
        if key in names.keys and (why := _wrong(names.keys[key], value, (*path, key))):
            return why
    return None


def odd_case(value: bytes, names: Iterable[str]) -> bool:
    """Whether one of these names may be a key of the value in another case. To parse it in order to
    know costs as much as ten records.
    """
    if b"\\u" in value or KELVIN in value:
        return True
    lower = value.lower()
    for name in names:
        if not name.isascii() or '"' in name or "\\" in name:
            return True
        quoted = f'"{name}"'.encode()
        if lower.count(quoted.lower()) != value.count(quoted):
            return True
    return False


LEAST: Final = 50
STEP: Final = 200
MOST: Final = 20
"""Keys of one task: a record whose keys are data has as many as it likes."""
DIGITS: Final = 21
"""Letters of a number that is beyond all of 64 bits."""
LONGEST: Final = 100
"""Letters of a key: a longer one is data too."""
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
Task = tuple[int, list["Seen"]]
"""How many records a task has looked at, and what it found in them."""
_TIME: Final = re.compile(rb'"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"')
_DAY: Final = re.compile(rb'"\d{4}-\d\d-\d\d"')
_FIRST: Final = {b"{": "object", b"[": "array", b"t": "boolean", b"f": "boolean", b"n": "null"}
"""First byte of a value -> its kind."""


class Seen(NamedTuple):
    """One key in the records that were looked at."""

    path: Path
    """From the row."""
    kinds: frozenset[str]
    """Of its values: object, array, boolean, null, bigint, double, string, timestamp, date;
    number: one that is neither bigint nor double."""
    records: int
    looked_at: int
    """Records in which it could have been."""
    partition: int
    offset: int
    """The first of those that have it, of the first partition."""

    def and_(self, other: Seen) -> Seen:
        """Both as one."""
        partition, offset = min(self[4:], other[4:])
        return Seen(
            self.path,
            self.kinds | other.kinds,
            self.records + other.records,
            self.looked_at + other.looked_at,
            partition,
            offset,
        )


class UnnamedKeys:
    """Those that one task finds."""

    def __init__(self, topic: Topic) -> None:
        rows = [place for place in topic.value_places if place.field.part == "value"]
        self._bases = rows[0].bases if rows and type(topic.format) is Json else ()
        self._names = names_of((topic,))
        self._found: dict[Path, Seen] = {}
        self._looked_at = 0

    @property
    def task(self) -> Task:
        """All of them."""
        return self._looked_at, [*self._found.values()]

    def look(self, records: Records, reasons: Sequence[str | None]) -> None:
        """Look at some of the good ones."""
        if not self._bases:
            return
        for index in range(0, len(reasons), max(1, min(STEP, len(reasons) // LEAST))):
            value = records.values[index].as_py()
            if reasons[index] is None and value:
                place = records.partition[index].as_py(), records.offset[index].as_py()
                self.look_at(value, *place)

    def look_at(self, value: bytes, partition: int, offset: int) -> None:
        """Look at a good one."""
        self._looked_at += 1
        for path, kind in self._unnamed(value):
            self._note(Seen(path, frozenset((kind,)), 1, 0, partition, offset))

    def _unnamed(self, value: bytes) -> list[tuple[Path, str]]:
        try:
            row = next(filter(None, (_at(value, base) for base in self._bases)), None)
            return [*_unnamed(row or {}, self._names, ())]
        except REFUSED:  # nobody has validated what no field names
            return []

    def _note(self, now: Seen) -> None:
        if known := self._found.get(now.path):
            self._found[now.path] = known.and_(now)
        elif len(self._found) < MOST:
            self._found[now.path] = now


def of_all(tasks: Iterable[Task]) -> list[Seen]:
    """Each key once, by its path. It could have been in what any task looked at."""
    looked_at, found = 0, dict[Path, Seen]()
    for count, seen in tasks:
        looked_at += count
        for each in seen:
            found[each.path] = found[each.path].and_(each) if each.path in found else each
    return [found[path]._replace(looked_at=looked_at) for path in sorted(found, key=str)]


def names_of(inputs: Iterable[Topic]) -> Names:
    """The keys that the fields of a topic's rows name; of several topics, those of any."""
    names = Names()
    for place in (place for each in inputs for place in each.value_places):
        if place.field.part == "value":
            for path in place.paths:
                names.put(path, None if place.field.format else place.field.tree)
    return names


def is_named(names: Names, path: Path) -> bool:
    """Whether a field has what is at the path, or a part of it, or what it is a part of."""
    at = names
    for key in path:
        if not at.keys:
            return True
        if key not in at.keys:
            return False
        at = at.keys[str(key)]
    return True


def _at(value: bytes, base: Path) -> dict[str, Any] | None:
    found: dict[str, Any] = _OBJECT(value)
    for key in base:
        raw = bytes(found.get(str(key), b""))
        if not raw.startswith(b"{"):
            return None
        found = _OBJECT(raw)
    return found


def _unnamed(row: dict[str, Any], names: Names, path: Path) -> Iterator[tuple[Path, str]]:
    for key in row.keys() - names.keys.keys():
        if 0 < len(key) <= LONGEST:
            yield (*path, key), _kind(bytes(row[key]))
    for key, inner in names.keys.items():
        if inner.keys and key in row and (raw := bytes(row[key])).startswith(b"{"):
            yield from _unnamed(_OBJECT(raw), inner, (*path, key))


def _kind(raw: bytes) -> str:
    if raw[:1] == b'"':
        if _TIME.fullmatch(raw) and _parses(raw, datetime):
            return "timestamp"
        return "date" if _DAY.fullmatch(raw) and _parses(raw, date) else "string"
    if raw[:1] in _FIRST:
        return _FIRST[raw[:1]]
    if {*raw} & {*b".eE"}:
        return "double" if _parses(raw, float) else "number"
    return "bigint" if len(raw) < DIGITS and -(1 << 63) <= int(raw) < 1 << 63 else "number"


def _parses(raw: bytes, kind: type) -> bool:
    try:
        value: object = msgspec.json.decode(raw, type=kind)
        if isinstance(value, datetime):
            utc(value)
    except (ValueError, OverflowError):
        return False
    return not isinstance(value, float) or math.isfinite(value)
