"""Sent: what many messages have of one field, and its column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor as F

from spark_jobs.decode.columns.cursor import Cursor
from spark_jobs.decode.columns.spans import Spans
from spark_jobs.decode.protobuf.messages import FIRST_SECOND, LAST_SECOND, SECOND, symbols
from spark_jobs.decode.protobuf.scalar import FLOATS, SCALARS

if TYPE_CHECKING:
    from spark_jobs.decode.columns.cursor import Bools, Places


class Sent:
    """Of the messages of a cursor."""

    def __init__(self, field: F, cursor: Cursor) -> None:
        self._field = field
        self.there = np.zeros(len(cursor.at), bool)
        self._numbers = np.zeros(len(cursor.at), FLOATS.get(field.type, np.int64))
        self.spans = Spans(cursor.at.copy(), cursor.at.copy())

    def take(self, part: Cursor, which: Places) -> None:
        """Reads the value, of these messages."""
        self.there[which] = True
        if self._field.type in SCALARS:
            self._numbers[which] = SCALARS[self._field.type][1](part)
        else:
            self.spans.begin[which], self.spans.end[which] = part.content(zigzag=False)

    def column(self, cursor: Cursor) -> pa.Array:
        """The values: null, or the type's default, where none was sent."""
        kind, nulls = self._field.type, ~self.there & self._field.has_presence
        if kind == F.TYPE_STRING:
            array = cursor.texts(self.spans)
        elif kind == F.TYPE_BYTES:
            array = cursor.bytes(self.spans)
        elif kind == F.TYPE_ENUM:
            array = self._symbols(cursor, nulls)
        else:
            array = pa.array(self._numbers == 1 if kind == F.TYPE_BOOL else self._numbers)
        return pc.if_else(pa.array(nulls), pa.scalar(None, array.type), array)

    def _symbols(self, cursor: Cursor, nulls: Bools) -> pa.Array:
        names = sorted(symbols(self._field.enum_type).items())
        defined = np.array([number for number, _ in names])
        at = np.minimum(np.searchsorted(defined, self._numbers), len(names) - 1)
        cursor.sure &= nulls | (defined[at] == self._numbers)
        return pa.array([name for _, name in names]).take(pa.array(at))


def times(cursor: Cursor, seconds: Places, nanos: Places) -> pa.Array:
    """Microseconds since 1970, of the years 1 to 9999."""
    cursor.between(seconds, FIRST_SECOND, LAST_SECOND)
    cursor.between(nanos, 0, SECOND - 1)
    return pa.array(seconds * 1_000_000 + nanos // 1000)
