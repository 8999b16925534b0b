"""Scalar: what reads the values of a field without parts, of many messages at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from google.protobuf.descriptor import FieldDescriptor as F

from spark_jobs.decode.columns.cursor import Cursor
from spark_jobs.decode.columns.varint import signed

if TYPE_CHECKING:
    from spark_jobs.decode.columns.cursor import Places

Values = npt.NDArray[Any]
"""int64 where they are whole, else floats."""


def _within(least: int, most: int, read: Callable[[Cursor], Places]) -> Callable[[Cursor], Places]:
    return lambda cursor: cursor.between(read(cursor), least, most)


def _long(cursor: Cursor) -> Places:
    return cursor.number().astype(np.int64)


def _zigzag(cursor: Cursor) -> Places:
    return signed(cursor.number())


INT: Final = -(2**31), 2**31 - 1
SCALARS: Final[dict[int, tuple[int, Callable[[Cursor], Values]]]] = {
    F.TYPE_INT64: (0, _long),
    F.TYPE_UINT64: (0, _within(0, 2**63 - 1, _long)),
    F.TYPE_SINT64: (0, _zigzag),
    F.TYPE_BOOL: (0, _within(0, 1, _long)),
    F.TYPE_ENUM: (0, _within(*INT, _long)),
    F.TYPE_FIXED32: (5, lambda cursor: cursor.word(4).astype(np.uint32).astype(np.int64)),
    F.TYPE_SFIXED32: (5, lambda cursor: cursor.word(4).astype(np.int32).astype(np.int64)),
    F.TYPE_FLOAT: (5, lambda cursor: cursor.word(4).astype(np.uint32).view(np.float32)),
    F.TYPE_FIXED64: (1, _within(0, 2**63 - 1, lambda cursor: cursor.word(8).astype(np.int64))),
    F.TYPE_SFIXED64: (1, lambda cursor: cursor.word(8).astype(np.int64)),
    F.TYPE_DOUBLE: (1, lambda cursor: cursor.word(8).view(np.float64)),
}
"""Type of a field -> how it is on the wire, and what reads it. messages.py widens the others."""
FLOATS: Final[dict[int, Any]] = {F.TYPE_FLOAT: np.float32, F.TYPE_DOUBLE: np.float64}
"""Type -> what its numbers are. Of any other: int64."""
COUNTED: Final = 2
"""On the wire: bytes behind their count."""


def tag_of(field: F) -> int:
    """What is in front of the field's value: one byte, or two as a number, the first the lowest; 0
    if more.
    """
    wire = SCALARS[field.type][0] if field.type in SCALARS else COUNTED
    tag = int(field.number) << 3 | wire
    if tag < 128:  # noqa: PLR2004 - seven bits a byte
        return tag
    return tag & 127 | 128 | tag >> 7 << 8 if tag < 128 * 128 else 0
