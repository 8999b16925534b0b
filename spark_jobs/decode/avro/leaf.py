"""Leaf: what reads the values of a type without parts, of many records at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from spark_jobs.decode.avro.shape import wire
from spark_jobs.decode.columns.epochs import FIRST_US, LAST_US, NANOSECONDS
from spark_jobs.decode.columns.text_column import DAYS
from spark_jobs.decode.columns.varint import signed

if TYPE_CHECKING:
    from spark_jobs.decode.columns.cursor import Cursor
    from spark_jobs.schemas.avro import Node

Read = Callable[["Cursor"], "pa.Array"]
WIDER: Final = {("int", "long"), ("float", "double")}


def leaf(writer: Node, reader: Node) -> Read | None:
    """None where each value must be looked at."""
    if writer.kind != reader.kind and (writer.kind, reader.kind) not in WIDER:
        return None
    if writer.kind in {"int", "long"}:
        return _whole(writer, reader)
    if writer.kind == "enum":
        return _enum(writer, reader)
    if writer.kind in {"bytes", "fixed"}:
        return _bytes(writer, reader)
    return {"boolean": _boolean, "float": _float, "double": _double, "string": _text}.get(
        writer.kind
    )


def _boolean(cursor: Cursor) -> pa.Array:
    found = cursor.byte()
    cursor.sure &= found <= 1
    return pa.array(found == 1)


def _float(cursor: Cursor) -> pa.Array:
    return pa.array(cursor.word(4).astype(np.uint32).view(np.float32))


def _double(cursor: Cursor) -> pa.Array:
    return pa.array(cursor.word(8).view(np.float64))


def _text(cursor: Cursor) -> pa.Array:
    return cursor.texts(cursor.content(zigzag=True))


def _bytes(writer: Node, reader: Node) -> Read | None:
    if reader.logical == "uuid":
        return None

    def read(cursor: Cursor) -> pa.Array:
        of_fixed = writer.kind == "fixed"
        spans = cursor.block(writer.size) if of_fixed else cursor.content(zigzag=True)
        return cursor.digits(spans) if reader.logical == "decimal" else cursor.bytes(spans)

    return read


def _whole(writer: Node, reader: Node) -> Read:
    """A number that means a time is of the years 1 to 9999."""
    least, most = -(2**63), 2**63 - 1
    if writer.kind == "int":
        least, most = -(2**31), 2**31 - 1
    if at := wire(reader):
        first, last = DAYS if at.unit == "days" else _ends(NANOSECONDS[at.unit])
        least, most = max(least, first), min(most, last)

    def read(cursor: Cursor) -> pa.Array:
        return pa.array(cursor.between(signed(cursor.number()), least, most))

    return read


def _ends(nanoseconds: int) -> tuple[int, int]:
    """The first and the last time in units of so many nanoseconds."""
    return -(-FIRST_US * 1000 // nanoseconds), LAST_US * 1000 // nanoseconds


def _enum(writer: Node, reader: Node) -> Read | None:
    known = {*reader.symbols}
    table = [each if each in known else reader.default for each in writer.symbols]
    if not table or None in table:
        return None

    def read(cursor: Cursor) -> pa.Array:
        number = cursor.number()
        good = (number & np.uint64(1) == 0) & (number < 2 * len(table))
        cursor.sure &= good
        return pa.array(table, pa.string()).take(pa.array(np.where(good, number >> 1, 0)))

    return read
