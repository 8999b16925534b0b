"""Vectors: messages by whole columns. A round reads one field of all messages that have it next. A
field that comes twice, is repeated, of a oneof or of its own message is left to the other decoder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from google.protobuf.descriptor import FieldDescriptor as F

from spark_jobs.decode.columns.cursor import Cursor, Found
from spark_jobs.decode.protobuf import messages as known
from spark_jobs.decode.protobuf.scalar import tag_of
from spark_jobs.decode.protobuf.sent import Sent, times
from spark_jobs.decode.schemed.at_once import DEEPEST, MOST, AtOnce, OneByOne, at_once
from spark_jobs.decode.schemed.fit import UNREAD, Kind
from spark_jobs.decode.schemed.objects import Wire

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from spark_jobs.decode.columns.cursor import Places
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
OF_TIMES: Final = [("seconds", F.TYPE_INT64), ("nanos", F.TYPE_INT64)]
LAST_TAG: Final = 2**20
"""Behind all tags of two bytes."""


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
        if len(kinds) > MOST or len(around) > DEEPEST or (self._is_time and types != OF_TIMES):
            raise OneByOne
        if name in known.WRAPPERS and (len(types) != 1 or types[0][0] != "value"):
            raise OneByOne
        bare = self._is_time or name in known.WRAPPERS
        for field in message.fields:
            if field.is_required or (bare and (field.has_presence or field.is_repeated)):
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
        sent = [Sent(part.field, cursor) for part in self._parts]
        if self._path:
            found[self._path] = cursor.trues()
        for _ in range(2 * len(sent) + 8):
            place, which = self._next(cursor)
            if not len(which):
                break
            part = cursor.part(which)
            part.skip(1 if self._parts[place].tag < 256 else 2)  # noqa: PLR2004 - of one byte
            part.sure &= ~sent[place].there[which]
            sent[place].take(part, which)
            cursor.join(part, which)
        cursor.sure &= cursor.at == cursor.end
        for (_, path, _, inner), each in zip(self._parts, sent, strict=True):
            if inner:
                inside = cursor.within(each.spans)
                found |= inside.where(each.there & cursor.sure, inner.read)
                cursor.sure &= inside.sure
            else:
                found[path] = each.column(cursor)
        if self._is_time:
            seconds, nanos = (found.pop((*self._path, part.field.name)) for part in self._parts)
            found[self._path] = times(cursor, seconds.to_numpy(), nanos.to_numpy())

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
    except (OneByOne, RecursionError):
        return None

    def read(cursor: Cursor) -> Found:
        for byte in prefix:
            cursor.sure &= cursor.byte() == byte
        found: Found = {}
        columns.read(cursor, found)
        return found

    return at_once(objects, kinds, read)
