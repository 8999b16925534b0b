"""Fit: what makes the column of a field of whole columns as a schema gives them, by Arrow. What it
refuses is no reason: objects.py then looks at the value, and may take it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.decode.columns.column import Column
from spark_jobs.decode.columns.epochs import NANOSECONDS, from_epoch
from spark_jobs.decode.columns.text_column import DAYS, text_column
from spark_jobs.decode.schemed.objects import BITS, OF_TEXT, Wire
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.type_tree import Decimal

if TYPE_CHECKING:
    from spark_jobs.spec import Field

Fit = Callable[["pa.Array"], Column]
UNREAD: Final = "unread"
"""A kind of which there is no column."""
EXACT: Final = {**BITS, "float": 25, "double": 54}
"""Kind -> of how many bits, one of them the sign's, it has each whole number."""
DIGITS: Final = 18
"""Of a decimal, so that it is a number of 64 bits."""


class Kind(NamedTuple):
    """What a column of a schema has."""

    name: str
    """text, bytes, boolean: such an array; whole number: int64; number: float32 or float64;
    decimal: the digits as int64; object: of it there are the paths to what it has; UNREAD.
    """
    wire: Wire | None = None
    """How whole numbers are times."""
    scale: int = 0
    """Of the decimals."""


def fit(kind: Kind, field: Field) -> Fit | None:
    """None where each value must be looked at."""
    if kind.wire:
        return _of_wire(kind.wire, field)
    if kind.name == "text" and field.format != "json":
        texts = field.format is not None or field.kind == "string" or field.kind in OF_TEXT
        return (lambda array: text_column(array, field)) if texts else None
    if kind.name == "whole number" and field.format in NANOSECONDS:
        return lambda array: from_epoch(array, str(field.format), field.type)
    return _plain(kind, field) if field.format is None else None


def _plain(kind: Kind, field: Field) -> Fit | None:
    if (kind.name, field.kind) in {("boolean", "boolean"), ("bytes", "binary")}:
        return lambda array: Column(array, {})
    match field.tree:
        case Decimal(precision, scale) if kind.name in {"whole number", "decimal"}:
            return _decimals(kind.scale, precision, scale)
    if kind.name == "whole number" and field.kind in EXACT:
        most = 2 ** (EXACT[field.kind] - 1) - 1
        return lambda array: _as(array, field.type, -most - 1, most)
    if kind.name == "number" and field.kind in {"float", "double"}:
        return lambda array: _exactly(array, field.type)
    return None


def _of_wire(wire: Wire, field: Field) -> Fit | None:
    if field.kind != wire.kind or field.format is not None:
        return None
    if wire.unit == "days":
        return lambda array: _as(array, "int", *DAYS, view="date")
    return lambda array: from_epoch(array, wire.unit, field.type)


def _as(array: pa.Array, kind: str, least: int, most: int, *, view: str = "") -> Column:
    """Whole numbers in their type."""
    far = pc.or_(pc.less(array, least), pc.greater(array, most))
    found = array.cast(arrow_type(kind), safe=False)
    return _but(found.view(arrow_type(view)) if view else found, far)


def _exactly(array: pa.Array, kind: str) -> Column:
    """Numbers as floats, but for those that are others then."""
    found = array.cast(arrow_type(kind), safe=False)
    same = pc.equal(found.cast(array.type, safe=False), array)
    return _but(found, pc.invert(pc.or_(same, pc.is_nan(found))))


def _decimals(given: int, precision: int, scale: int) -> Fit | None:
    """From digits of the scale `given` to a decimal."""
    if scale < given or precision > DIGITS:
        return None
    times = 10 ** (scale - given)
    most = (10**precision - 1) // times

    def of(array: pa.Array) -> Column:
        far = pc.or_(pc.less(array, -most), pc.greater(array, most))
        low = array.fill_null(0).to_numpy(zero_copy_only=False) * times
        halves = np.stack([low, low >> 63], axis=1)  # of 128 bits, the lower one first
        buffers = [None, pa.py_buffer(np.ascontiguousarray(halves))]
        wide = pa.Array.from_buffers(pa.decimal128(precision, scale), len(array), buffers)
        return _but(pc.if_else(array.is_valid(), wide, pa.scalar(None, wide.type)), far)

    return of


def _but(array: pa.Array, refused: pa.Array) -> Column:
    if not pc.any(refused).as_py():
        return Column(array, {})
    return Column(array, dict.fromkeys(pc.indices_nonzero(refused).to_pylist(), "does not fit"))
