"""Converted: one value in Python as Arrow takes it for a field's type."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.columns.text_column import checked, day
from spark_jobs.decode.schemed.unreadable import Unreadable
from spark_jobs.values import type_tree
from spark_jobs.values.times import utc
from spark_jobs.values.type_tree import Array, Map, Scalar, Struct, Type

KINDS: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "smallint": (int,),
    "int": (int,),
    "bigint": (int,),
    "float": (float, int),
    "double": (float, int),
    "boolean": (bool,),
    "binary": (bytes,),
    "timestamp": (datetime,),
    "timestamp_ntz": (datetime,),
    "date": (date,),
    "decimal": (Decimal, int),
}
"""Kind of a field -> the types in Python that it takes, exactly."""
FLOAT: Final = struct.Struct("<f")
BITS: Final = {"smallint": 16, "int": 32, "bigint": 64}
NAMES: Final = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    bytes: "bytes",
    datetime: "a time",
    date: "a date",
    Decimal: "a decimal",
    list: "an array",
    dict: "an object",
}


def converted(tree: Type, value: Any) -> Any:
    """A value of the type, as Arrow takes it. Raises Wrong: what is wrong."""
    if value is None:
        return None
    match tree:
        case Array(element):
            return [converted(element, each) for each in _is(value, list, tree)]
        case Map(of):
            members = _is(value, dict, tree)
            if not all(type(key) is str for key in members):
                raise Wrong(f"has a key that is no text, not {type_tree.as_text(tree)}")
            return [(key, converted(of, each)) for key, each in members.items()]
        case Struct(members):
            given = _is(value, dict, tree)
            return {name: converted(of, given.get(name)) for name, of in members}
        case type_tree.Decimal():
            number = Decimal(value) if type(value) is int else _is(value, Decimal, tree)
            return checked(number, tree)
        case Scalar(name):
            return _scalar(name, value)


def _scalar(name: str, value: Any) -> Any:
    if type(value) not in KINDS[name]:
        raise Wrong(f"is {_name(value)}, not {name}")
    if name in BITS and not -(2 ** (BITS[name] - 1)) <= value < 2 ** (BITS[name] - 1):
        raise Wrong(f"is a number out of range of {name}")
    if name in {"float", "double"}:
        return _float(name, value)
    if name in {"timestamp", "timestamp_ntz"}:
        zoned = value.tzinfo is not None
        if zoned != (name == "timestamp"):
            raise Wrong(f"is a time {'with' if zoned else 'without'} a zone, not {name}")
        return utc(value) if zoned else value
    return value


def _float(name: str, value: float) -> float:
    """Of a whole number, and for a float of any: none is rounded."""
    try:
        found = float(value) if name == "double" else FLOAT.unpack(FLOAT.pack(float(value)))[0]
    except OverflowError:
        raise Wrong(f"is a number out of range of {name}") from None
    if found != value and not math.isnan(value):
        raise Wrong(f"is a number that {name} would round")
    return float(found)


def _is(value: Any, wanted: type, tree: Type) -> Any:
    if type(value) is not wanted:
        raise Wrong(f"is {_name(value)}, not {type_tree.as_text(tree)}")
    return value


def _name(value: Any) -> str:
    if isinstance(value, Unreadable):
        return value.why
    return NAMES.get(type(value), "a value of another type")


def day_of(value: Any) -> date:
    if type(value) is not int:
        raise Wrong(f"is {_name(value)}, not a number of days")
    return day(value)


def json_of(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=_refuse).decode()


def _refuse(value: Any) -> None:
    raise Wrong(f"has {_name(value)}")
