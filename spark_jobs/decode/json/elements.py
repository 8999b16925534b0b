"""JSON elements: the records of a value that has many, each as an object of its own bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from spark_jobs.decode.formats import EMPTY as NO_BYTES, REFUSED, Element
from spark_jobs.decode.json.decoder import JsonDecoder, not_json
from spark_jobs.decode.json.unnamed import Names
from spark_jobs.spec.fields.each import levels, missing, needed
from spark_jobs.values.own_columns import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.decode.formats import Records
    from spark_jobs.spec import Topic

LIST: Final = "found"
"""The attribute that leads to the list."""


class JsonElements:
    """As the port has it. Each list is read by the bytes of what it is in, so that a wrong one
    hides no other.
    """

    decoder = JsonDecoder

    def __init__(self, topic: Topic, _: object) -> None:
        assert topic.each is not None
        ways, keys = levels(topic.each), needed(topic.fields)
        self._levels = [
            _Level(way, keys.get(len(ways) - n, ()), len(ways) - n) for n, way in enumerate(ways)
        ]
        self._first, self._names = ways[0], Names()
        self._names.put(ways[0])

    def of(self, records: Records) -> Iterator[list[Element]]:
        """As the port has it."""
        return (self._of_value(value.as_py()) for value in records.values)

    def _of_value(self, value: bytes | None) -> list[Element]:
        if not value:
            return [Element(None, None, NO_BYTES if value is not None else None)]
        try:
            if not value.isascii():
                value.decode()
            around, members = self._levels[0].read(value)
        except REFUSED as error:
            told = isinstance(error, msgspec.ValidationError)
            why = self._names.wrong(value) or str(error) if told else not_json(value, error)
            return [Element(None, None, why)]
        if members is None:
            return [Element(None, None, self._names.wrong(value) or missing(self._first))]
        found = list[Element]()
        self._add(found, 1, members, around)
        return found or [Element(EMPTY, None)]

    def _add(
        self, found: list[Element], depth: int, members: Sequence[msgspec.Raw], around: bytes
    ) -> None:
        if depth == len(self._levels):
            found += [
                Element(number, b'{"0":%b%b}' % (bytes(each), around))
                for number, each in enumerate(members, len(found))
            ]
            return
        for each in members:
            try:
                more, inner = self._levels[depth].read(bytes(each))
            except REFUSED as error:
                why = f"what its list is in, {len(self._levels) - depth} further out: {error}"
                found.append(Element(len(found), None, why))
            else:
                self._add(found, depth + 1, inner or (), around + more)


class _Level:
    """What one list is in."""

    def __init__(self, way: tuple[str, ...], keys: tuple[str, ...], up: int) -> None:
        kind: Any = list[msgspec.Raw]
        for step in reversed(way[1:]):
            kind = msgspec.defstruct("On", [(LIST, kind | None, None)], rename={LIST: step})
        self._names = {f"f{number}": key for number, key in enumerate(keys)}
        if way:
            fields = [(name, msgspec.Raw, None) for name in self._names]
            fields.append((LIST, kind | None, None))
            kind = msgspec.defstruct("Around", fields, rename=self._names | {LIST: way[0]})
        self._decode, self._way, self._up = msgspec.json.Decoder(kind).decode, way, up

    def read(self, value: bytes) -> tuple[bytes, Sequence[msgspec.Raw] | None]:
        """What fields need of it, as a member of an element's object; and the list, None if it is
        missing or null.
        """
        found: Any = self._decode(value)
        at = found
        for _ in self._way:
            at = at and getattr(at, LIST)
        if not self._names:
            return b"", at
        parts = [
            b"%b:%b" % (msgspec.json.encode(key), bytes(raw))
            for name, key in self._names.items()
            if (raw := getattr(found, name)) is not None
        ]
        return b',"%d":{%b}' % (self._up, b",".join(parts)), at
