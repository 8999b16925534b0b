"""Vectors: messages by whole columns. A round reads one field of all messages that have it next. A
field that comes twice, is repeated, of a oneof or of its own message is left to the other decoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor as F

from spark_jobs.decode.columns.cursor import Cursor, Found, Spans
from spark_jobs.decode.protobuf import messages as known
from spark_jobs.decode.protobuf.scalar import FLOATS, SCALARS, tag_of
from spark_jobs.decode.schemed.at_once import MOST, AtOnce, OneByOne, at_once
from spark_jobs.decode.schemed.fit import UNREAD, Kind
from spark_jobs.decode.schemed.objects import Wire

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from spark_jobs.decode.columns.cursor import Bools, Places
    from spark_jobs.decode.schemed.objects import Objects
    from spark_jobs.values.path import Path

KINDS: Final = {
    F.TYPE_BOOL: "boolean",
    F.TYPE_STRING: "text",
    F.TYPE_ENUM: "text",
    F.TYPE_BYTES: "bytes",
    F.TYPE_FLOAT: "number",
    F.TYPE_DOUBLE: "number",
}
OF_TIMES: Final = [("seconds", F.TYPE_INT64), ("nanos", F.TYPE_INT32)]
LAST_TAG: Final = 2**20
"""Behind all tags of two bytes."""


class _Sent:
    """What messages have of one field."""

    def __init__(self, field: F, cursor: Cursor) -> None:
        self.there = np.zeros(len(cursor.at), bool)
        self.numbers = np.zeros(len(cursor.at), FLOATS.get(field.type, np.int64))
        self.spans = Spans(cursor.at.copy(), cursor.at.copy())


class _Part(NamedTuple):
    """A field of a message, and what reads it if it is one."""

    field: F
    path: Path
    tag: int
    inner: Columns | None


class Columns:
    """Of one type of message. Raises OneByOne. `kinds` gets what is found."""

    def __init__(
        self, message: Descriptor, path: Path, kinds: dict[Path, Kind], around: tuple[str, ...]
    ) -> None:
        self._path, self._parts = path, list[_Part]()
        name, around = message.full_name, (*around, message.full_name)
        self._is_time = name == known.TIMESTAMP
        types = [(field.name, field.type) for field in message.fields]
        if len(kinds) > MOST or (self._is_time and types != OF_TIMES):
            raise OneByOne
        if name in known.WRAPPERS and (len(types) != 1 or types[0][0] != "value"):
            raise OneByOne
        for field in message.fields:
            if field.is_required:
                raise OneByOne
            to = path if name in known.WRAPPERS else (*path, field.name)
            kinds[to], inner, tag = Kind(UNREAD), None, tag_of(field)
            if (
                tag
                and _is_one(field)
                and _name(field) not in {*around, *known.AS_JSON, known.DECIMAL}
            ):
                kinds[to] = Kind(KINDS.get(field.type, "whole number"))
                if field.message_type is not None:
                    kinds[to] = Kind("object")
                    inner = Columns(field.message_type, to, kinds, around)
                self._parts.append(_Part(field, to, tag, inner))
            if self._is_time:
                del kinds[to]
                kinds[path] = Kind("whole number", Wire("timestamp", "us"))
        tags = np.array([*(part.tag for part in self._parts), LAST_TAG])
        self._order = np.argsort(tags)
        self._tags = tags[self._order]

    def read(self, cursor: Cursor, found: Found) -> None:
        """All fields of messages, which end where the cursor ends."""
        sent = [_Sent(part.field, cursor) for part in self._parts]
        if self._path:
            found[self._path] = cursor.trues()
        for _ in range(2 * len(sent) + 8):
            place, which = self._next(cursor)
            if not len(which):
                break
            part = cursor.part(which)
            part.skip(1 if self._parts[place].tag < 256 else 2)  # noqa: PLR2004 - of one byte
            part.sure &= ~sent[place].there[which]
            _take(self._parts[place].field, part, sent[place], which)
            cursor.join(part, which)
        cursor.sure &= cursor.at == cursor.end
        for (field, path, _, inner), each in zip(self._parts, sent, strict=True):
            if inner:
                inside = cursor.within(each.spans)
                found |= inside.where(each.there & cursor.sure, inner.read)
                cursor.sure &= inside.sure
            else:
                found[path] = _column(field, cursor, each)
        if self._is_time:
            seconds, nanos = (found.pop((*self._path, part.field.name)) for part in self._parts)
            found[self._path] = _times(cursor, seconds.to_numpy(), nanos.to_numpy())

    def _next(self, cursor: Cursor) -> tuple[int, Places]:
        """The first field that any message has next, and which have it. A message with another tag
        is not sure.
        """
        left = np.flatnonzero(cursor.sure & (cursor.at < cursor.end))
        tags = cursor.tags(left)
        at = np.searchsorted(self._tags, tags)
        places = np.where(self._tags[at] == tags, self._order[at], len(self._parts))
        cursor.sure[left[places == len(self._parts)]] = False
        first = int(places.min(initial=len(self._parts)))
        return first, left[(places == first) & (first < len(self._parts))]


def _take(field: F, part: Cursor, sent: _Sent, which: Places) -> None:
    sent.there[which] = True
    if field.type in SCALARS:
        sent.numbers[which] = SCALARS[field.type][1](part)
    else:
        sent.spans.begin[which], sent.spans.end[which] = part.content(zigzag=False)


def _column(field: F, cursor: Cursor, sent: _Sent) -> pa.Array:
    """The field's values: null, or its type's default, where it was not sent."""
    nulls = ~sent.there & field.has_presence
    if field.type == F.TYPE_STRING:
        array = cursor.texts(sent.spans)
    elif field.type == F.TYPE_BYTES:
        array = cursor.bytes(sent.spans)
    elif field.type == F.TYPE_ENUM:
        array = _symbols(field, cursor, sent.numbers, nulls)
    else:
        array = pa.array(sent.numbers == 1 if field.type == F.TYPE_BOOL else sent.numbers)
    return pc.if_else(pa.array(nulls), pa.scalar(None, array.type), array) if nulls.any() else array


def _symbols(field: F, cursor: Cursor, numbers: Places, nulls: Bools) -> pa.Array:
    names = sorted((number, each.name) for number, each in field.enum_type.values_by_number.items())
    defined = np.array([number for number, _ in names])
    at = np.minimum(np.searchsorted(defined, numbers), len(names) - 1)
    cursor.sure &= nulls | (defined[at] == numbers)
    return pa.array([name for _, name in names]).take(pa.array(at))


def _times(cursor: Cursor, seconds: Places, nanos: Places) -> pa.Array:
    """Microseconds since 1970, of the years 1 to 9999."""
    cursor.between(seconds, known.FIRST_SECOND, known.LAST_SECOND)
    cursor.between(nanos, 0, known.SECOND - 1)
    return pa.array(seconds * 1_000_000 + nanos // 1000)


def _is_one(field: F) -> bool:
    alone = field.containing_oneof is None or len(field.containing_oneof.fields) == 1
    return alone and not field.is_repeated and field.type != F.TYPE_GROUP


def _name(field: F) -> str:
    return str(field.message_type.full_name) if field.message_type is not None else ""


def vectors(message: Descriptor, prefix: bytes, objects: Objects) -> AtOnce | None:
    """For messages with these bytes in front, if they can be so read."""
    kinds: dict[Path, Kind] = {}
    if message.full_name in {known.TIMESTAMP, *known.WRAPPERS}:
        return None
    try:
        columns = Columns(message, (), kinds, ())
    except OneByOne:
        return None

    def read(cursor: Cursor) -> Found:
        for byte in prefix:
            cursor.sure &= cursor.byte() == byte
        found: Found = {}
        columns.read(cursor, found)
        return found

    return at_once(objects, kinds, read)
