"""Type trees: the type of a field, as Spark SQL writes it, in its parts."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

SCALARS: Final = (
    "string",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "boolean",
    "binary",
    "timestamp",
    "timestamp_ntz",
    "date",
)
MOST_DIGITS: Final = 38
"""Of a decimal, in Spark and in Arrow."""
MOST_DEPTH: Final = 16
OTHERWISE: Final = {
    **dict.fromkeys(("varchar", "char", "text", "str"), "string"),
    **dict.fromkeys(("long", "int64"), "bigint"),
    **dict.fromkeys(("integer", "int32"), "int"),
    **dict.fromkeys(("number", "float64"), "double"),
    **dict.fromkeys(("datetime", "timestamp_ltz", "timestamptz"), "timestamp"),
    "short": "smallint",
    "bool": "boolean",
    "bytes": "binary",
    "numeric": "decimal(p,s)",
}
"""Names that others have for them."""
_TOKEN: Final = re.compile(r"\s*([<>(),:]|[\w@$-]+)")


class Scalar(NamedTuple):
    """One of SCALARS."""

    name: str


class Decimal(NamedTuple):
    """A number of so many decimal digits, so many of them behind the point."""

    precision: int
    scale: int


class Array(NamedTuple):
    """Values of one type, each of them or null."""

    element: Type


class Map(NamedTuple):
    """Text -> values of one type, each of them or null."""

    value: Type


class Struct(NamedTuple):
    """Named values, each of them or null."""

    members: tuple[tuple[str, Type], ...]


Type = Scalar | Decimal | Array | Map | Struct


def parsed(text: str) -> Type:
    """The tree of a type. Raises ValueError, with what is wrong.

    >>> parsed("array<struct<price: decimal(10, 2)>>")
    Array(element=Struct(members=(('price', Decimal(precision=10, scale=2)),)))
    """
    rest = _Tokens(text)
    found = _type(rest, 0)
    if rest.left:
        raise ValueError(f"{rest.left[0]!r} follows the type")
    return found


def as_text(tree: Type) -> str:
    """Spark's simpleString of it."""
    match tree:
        case Scalar(name):
            return name
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Array(element):
            return f"array<{as_text(element)}>"
        case Map(value):
            return f"map<string,{as_text(value)}>"
        case Struct(members):
            return f"struct<{','.join(f'{name}:{as_text(of)}' for name, of in members)}>"


class _Tokens:
    def __init__(self, text: str) -> None:
        self.left = _TOKEN.findall(text)
        if "".join(self.left) != re.sub(r"\s", "", text):
            raise ValueError("it has a letter that no type has")

    def take(self, wanted: str | None = None) -> str:
        if not self.left or wanted not in (None, self.left[0]):
            found = repr(self.left[0]) if self.left else "the end"
            raise ValueError(f"{found} is where {wanted or 'a type'!r} should be")
        return str(self.left.pop(0))


def _type(rest: _Tokens, depth: int) -> Type:
    if depth > MOST_DEPTH:
        raise ValueError(f"it is nested deeper than {MOST_DEPTH}")
    name = rest.take()
    if name == "decimal":
        rest.take("(")
        precision = _digits(rest.take())
        rest.take(",")
        scale = _digits(rest.take())
        rest.take(")")
        if not (1 <= precision <= MOST_DIGITS and scale <= precision):
            raise ValueError(f"decimal(p,s) has p from 1 to {MOST_DIGITS}, and s from 0 to p")
        return Decimal(precision, scale)
    if name not in ("array", "map", "struct"):
        if name not in SCALARS:
            meant = f", {OTHERWISE[name]} is" if name in OTHERWISE else ""
            raise ValueError(f"{name!r} is none of them{meant}")
        return Scalar(name)
    rest.take("<")
    found: Type
    if name == "array":
        found = Array(_type(rest, depth + 1))
    elif name == "map":
        rest.take("string")
        rest.take(",")
        found = Map(_type(rest, depth + 1))
    else:
        found = Struct(_members(rest, depth + 1))
    rest.take(">")
    return found


def _members(rest: _Tokens, depth: int) -> tuple[tuple[str, Type], ...]:
    found = list[tuple[str, Type]]()
    while True:
        name = rest.take()
        rest.take(":")
        found.append((name, _type(rest, depth)))
        if not rest.left or rest.left[0] != ",":
            break
        rest.take(",")
    names = [name.lower() for name, _ in found]
    if len({*names}) < len(names):
        raise ValueError("a struct has each name once, in capitals or not")
    return tuple(found)


def _digits(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no number of digits")
    return int(text)
