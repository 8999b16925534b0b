"""Text column: texts to values of a field's type, strictly: of CSV, keys, headers, and numbers that
JSON has as text; and the columns of records that are named texts.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.columns.column import Column, Wrong, each_read
from spark_jobs.decode.columns.quick import LARGEST_FLOAT, quick
from spark_jobs.decode.columns.times import (
    NANOSECONDS,
    LocalClock,
    from_epoch,
    in_years,
    read_local,
    read_time,
)
from spark_jobs.decode.formats import Decoded
from spark_jobs.spec import Local
from spark_jobs.values import path as paths
from spark_jobs.values.conversions import arrow_array
from spark_jobs.values.field_types import FIELD_TYPES, fits
from spark_jobs.values.path import as_text
from spark_jobs.values.type_tree import MOST_DIGITS, Decimal as DecimalType

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.spec import Field
    from spark_jobs.spec.fields.place import Place

WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,18})")
NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
DAYS: Final = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, in days since 1970."""
Read = Callable[[str], Any]
"""A text -> its value. Any: of any type. Raises Wrong, or another error."""


def text_column(texts: Sequence[str | None] | pa.Array, field: Field) -> Column:
    """The values of a field without parts. `texts` are Python's, or Arrow's in one piece."""
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    given = texts if isinstance(texts, pa.Array) else arrow_array(texts, "string")
    if field.kind == "string":
        return Column(given, {})
    array = quick(given, field)
    left = pc.and_(pc.is_null(array), pc.is_valid(given))
    values, wrong = array, dict[int, str]()
    if pc.any(left).as_py():
        others = one_by_one(given.filter(left).to_pylist(), field)
        places = pc.indices_nonzero(left).to_pylist()
        values = pc.replace_with_mask(array, left, others.array)
        wrong = {places[index]: why for index, why in others.wrong.items()}
    if field.kind != "timestamp":
        return Column(values, wrong)
    within = in_years(values)
    return Column(within.array, wrong | within.wrong)


def one_by_one(texts: Sequence[str | None], field: Field) -> Column:
    """As `text_column`, each text by itself: what is good of those that no cast has read, and what
    is wrong with the others.
    """
    otherwise = f"is text that is no {field.type}"
    if field.format in NANOSECONDS:
        numbers, wrong = each_read(epoch_reader(str(field.format)), texts, otherwise)
        column = from_epoch(numbers, "us" if field.format == "s" else str(field.format), field.type)
        return Column(column.array, column.wrong | wrong)
    values, wrong = each_read(reader(field), texts, otherwise)
    column = typed(values, field.type)
    return Column(column.array, column.wrong | wrong)


def typed(values: Sequence[Any], kind: str) -> Column:
    """Values in Python to a column, times of the years 1 to 9999 in UTC."""
    array = arrow_array(values, kind)
    return in_years(array) if kind == "timestamp" else Column(array, {})


def reader(field: Field) -> Read:
    """What reads the texts of a field that is no string and no epoch."""
    tree, kind = field.tree, field.kind
    if isinstance(field.format, Local):
        clock = LocalClock(field.format)
        return (lambda text: clock.read(text).date()) if kind == "date" else clock.read
    if isinstance(tree, DecimalType):
        in_base64 = field.format == "base64"
        return decimal_of_base64(tree, tree.scale) if in_base64 else decimal_reader(tree)
    if field.format == "days":
        return day_of
    return {
        **dict.fromkeys(("smallint", "int", "bigint"), _whole(kind)),
        "float": _float,
        "double": _double,
        "boolean": FIELD_TYPES["boolean"].parse,
        "binary": lambda text: base64.b64decode(text, validate=True),
        "timestamp": read_time,
        "timestamp_ntz": read_local,
        "date": _date,
    }[kind]


def epoch_reader(unit: str) -> Read:
    """Digits to a whole number; of seconds, which may have a fraction, microseconds."""
    if unit != "s":
        return _digits
    return lambda text: seconds(Decimal(_number(text)))


def seconds(number: Decimal) -> int:
    """Microseconds: what is finer is cut off."""
    return int((number * 1_000_000).to_integral_value(rounding="ROUND_FLOOR"))


def decimal_reader(tree: DecimalType) -> Read:
    """What reads a number of decimal digits: none is rounded."""

    def read(text: str) -> Decimal:
        return checked(Decimal(_number(text)), tree)

    return read


def checked(number: Decimal, tree: DecimalType) -> Decimal:
    """The number, if the type has it. Raises ValueError."""
    if not fits(number, tree):
        raise Wrong(f"is a number that decimal({tree.precision},{tree.scale}) has not")
    # Of 0E7 Arrow says that it has seven digits.
    return _short(number) if number else Decimal(0)


def _short(number: Decimal) -> Decimal:
    """The same number with no more digits than Arrow converts: of more it raises, or makes another
    number in silence. What is too much are zeros, since the type has the number.
    """
    sign, digits, exponent = number.as_tuple()
    if len(digits) <= MOST_DIGITS or not isinstance(exponent, int):
        return number
    zeros = next(n for n, digit in enumerate(reversed(digits)) if digit)
    return Decimal((sign, digits[: len(digits) - zeros], exponent + zeros))


def decimal_of_base64(tree: DecimalType, scale: int) -> Read:
    """What reads the digits of a decimal as bytes in base64, as Kafka Connect and Debezium write
    them: two's complement, the first byte the highest. `scale`: of the digits.
    """

    def read(text: str) -> Decimal:
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise Wrong("is text that is no base64") from None
        if not 1 <= len(raw) <= 17:  # noqa: PLR2004 - 38 digits
            raise Wrong("is no number of 1 to 17 bytes")
        # Exact: no context rounds what is built of digits.
        digits = int.from_bytes(raw, "big", signed=True)
        sign, of = (1 if digits < 0 else 0), tuple(map(int, str(abs(digits))))
        return checked(Decimal((sign, of, -scale)), tree)

    return read


def _digits(text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> str:
    if not NUMBER.fullmatch(text):
        raise ValueError(text)
    return text


def _whole(kind: str) -> Read:
    parse = FIELD_TYPES[kind].parse if kind in ("smallint", "int", "bigint") else int
    return lambda text: parse(text) if WHOLE.fullmatch(text) else _digits(text)


def _double(text: str) -> float:
    found = float(_number(text))
    if found in (float("inf"), float("-inf")):
        raise Wrong("is a number out of range")
    return found


def _float(text: str) -> float:
    found = _double(text)
    if abs(found) > LARGEST_FLOAT:
        raise Wrong("is a number out of range")
    return found


def _date(text: str) -> date:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(text)
    return date.fromisoformat(text)


def day_of(given: int | str) -> date:
    """A date from its days since 1970, or their digits. Raises ValueError."""
    return day(given if isinstance(given, int) else _digits(given))


def day(number: int) -> date:
    """A date from its days since 1970. Raises ValueError."""
    if not DAYS[0] <= number <= DAYS[1]:
        raise Wrong("is a number that is no date of the years 1 to 9999")
    return date.fromordinal(number + datetime(1970, 1, 1).toordinal())  # noqa: DTZ001 - a date


def judged(
    places: Sequence[Place],
    columns: Iterable[Column],
    wanted: Sequence[str],
    reasons: list[str | None],
) -> Decoded:
    """Of the columns of these places the wanted ones. A record has the first reason that it gets,
    the given ones before those of its fields.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - a process that only plans needs it not

    found = {}
    for place, (array, wrong) in zip(places, columns, strict=True):
        field, where = place.field, as_text(place.paths[0])
        found[field.name] = array
        for index, why in wrong.items():
            reasons[index] = reasons[index] or f"`$.{where}` {why}"
        if field.required and array.null_count:
            lacks = f"Object missing required field `{where}`, or it is null"
            for index in pc.indices_nonzero(pc.is_null(array)).to_pylist():
                reasons[index] = reasons[index] or lacks
    return Decoded([found[name] for name in wanted], reasons)


def refused_places(places: Sequence[Place], names: Sequence[str]) -> list[str]:
    """The paths of the fields that no text has."""
    known = {*names}
    return [
        paths.as_text(path)
        for place in places
        for path in place.paths
        if len(path) != 1 or path[0] not in known
    ]


def text_of(value: bytes) -> str:
    """A value that is text, without a byte order mark in front of it. Raises UnicodeDecodeError."""
    return value.decode("utf-8-sig")


def utf8(values: pa.Array) -> pa.Array:
    """Bytes as texts; null where they are none."""
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        texts, _ = each_read(bytes.decode, values.to_pylist(), "")
        return pa.array(texts, pa.string())


def decoded(
    texts: Mapping[str, pa.Array],
    reasons: list[str | None],
    places: Sequence[Place],
    wanted: Sequence[str],
) -> Decoded:
    """The fields' columns. `texts`: name -> the text of each record."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    columns = (
        text_column(pc.coalesce(*(texts[str(path[0])] for path in place.paths)), place.field)
        for place in places
    )
    return judged(places, columns, wanted, reasons)
