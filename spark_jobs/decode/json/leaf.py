"""JSON leaves: of each type and format the annotation by which msgspec decodes it, and what makes a
column of what it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

import msgspec

from spark_jobs.decode.columns.column import Column, Wrong, each_read, each_value
from spark_jobs.decode.columns.quick import LARGEST_FLOAT
from spark_jobs.decode.columns.text_column import (
    NUMBER,
    checked,
    day_of,
    epoch_reader,
    text_column,
    typed,
)
from spark_jobs.decode.columns.times import (
    LOCAL,
    NANOSECONDS,
    OUTSIDE,
    ZONED,
    from_epoch,
    read_local,
    read_time,
)
from spark_jobs.spec import Local
from spark_jobs.values import type_tree
from spark_jobs.values.conversions import arrow_array
from spark_jobs.values.times import utc
from spark_jobs.values.type_tree import Array, Map, Scalar, Struct, Type

if TYPE_CHECKING:
    from spark_jobs.spec import Field

Values = Sequence[Any]
"""What msgspec gives. Any: its annotations are no types for mypy."""


class Leaf(NamedTuple):
    """One field's values in JSON."""

    annotation: Any
    as_text: Any
    """The annotation in which times are text; the same one where there are none."""
    column: Callable[[Values], Column]
    judges: bool
    """Whether `column` refuses values that the annotation takes."""
    cut: Callable[[Any], Any]
    """A value by `as_text` -> by `annotation`, of a second six digits. Raises ValueError."""

    @property
    def has_times(self) -> bool:
        """Whether there is anything to cut."""
        return self.as_text is not self.annotation


def leaf(field: Field) -> Leaf:
    """Of one field."""
    if field.format is not None:
        return _formatted(field)
    tree = field.tree
    annotation = annotation_of(tree)
    as_text = annotation_of(tree, times=str) if _has_times(tree) else annotation
    cut = partial(_cut, tree)
    if isinstance(tree, Scalar):
        judges = tree == Scalar("timestamp")
        return Leaf(annotation, as_text, partial(typed, kind=field.type), judges, cut)
    return Leaf(annotation, as_text, partial(_converted, field.type, tree), _needs(tree), cut)


def annotation_of(tree: Type, times: Any = None) -> Any:
    """What msgspec decodes: a Python type with the range of Spark's. With `times`, that in place of
    times.
    """
    match tree:
        case Scalar(name):
            zoned, local = (times, times) if times else (ZONED, LOCAL)
            return {
                "string": str,
                "smallint": _signed(16),
                "int": _signed(32),
                "bigint": _signed(64),
                "float": Annotated[float, msgspec.Meta(ge=-LARGEST_FLOAT, le=LARGEST_FLOAT)],
                "double": float,
                "boolean": bool,
                "binary": bytes,
                "timestamp": zoned,
                "timestamp_ntz": local,
                "date": date,
            }[name]
        case type_tree.Decimal():
            return msgspec.Raw  # msgspec's Decimal takes "1_0" and " 1" too
        case Array(element):
            return list[or_null(annotation_of(element, times))]  # type: ignore[misc]
        case Map(value):
            return dict[str, or_null(annotation_of(value, times))]  # type: ignore[misc]
        case Struct(members):
            of = {name: or_null(annotation_of(each, times)) for name, each in members}
            return TypedDict("Members", of, total=False)  # type: ignore[operator]


def or_null(annotation: Any) -> Any:
    """The annotation, and null: raw JSON may be that anyway, and msgspec takes no union with it."""
    return annotation if annotation is msgspec.Raw else annotation | None


def lacks_member(tree: Type, value: Any) -> bool:
    """Whether a struct in it has no value for a member."""
    if value is None:
        return False
    match tree:
        case Array(element):
            return any(lacks_member(element, each) for each in value)
        case Map(of):
            return any(lacks_member(of, each) for each in value.values())
        case Struct(members):
            lacks = (
                value.get(name) is None or lacks_member(of, value[name]) for name, of in members
            )
            return any(lacks)
        case _:
            return False


def members_of(tree: Type) -> set[str]:
    """The names of all members of the structs in it."""
    match tree:
        case Array(inner) | Map(inner):
            return members_of(inner)
        case Struct(members):
            return {name for name, _ in members}.union(*(members_of(of) for _, of in members))
        case _:
            return set()


def _signed(bits: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


def _formatted(field: Field) -> Leaf:
    given, kind = field.format, field.kind
    if given == "json":
        return _plain(msgspec.Raw, partial(each_value, _json, "string"))
    if given in NANOSECONDS:
        return _plain(int | float | str if given == "s" else int | str, partial(_epochs, field))
    if given == "days":
        return _plain(int | str, partial(each_value, day_of, kind))
    assert given in ("text", "base64") or isinstance(given, Local)
    return _plain(str, partial(text_column, field=field))


def _plain(annotation: Any, column: Callable[[Values], Column]) -> Leaf:
    return Leaf(annotation, annotation, column, True, _same)


def _same(value: Any) -> Any:
    return value


def _json(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return None if text == "null" else text


def _epochs(field: Field, values: Values) -> Column:
    """Mostly whole numbers, which go to Arrow as they are."""
    unit = str(field.format)
    if all(value is None or type(value) is int for value in values):
        return from_epoch(values, unit, field.type)
    read, otherwise = epoch_reader(unit), f"is text that is no number of {unit}"
    numbers, wrong = each_read(
        lambda value: read(value if isinstance(value, str) else repr(value)), values, otherwise
    )
    column = from_epoch(numbers, "us" if unit == "s" else unit, field.type)
    return Column(column.array, column.wrong | wrong)


def _converted(kind: str, tree: Type, values: Values) -> Column:
    if not _needs(tree):
        return Column(arrow_array(values, kind), {})
    return each_value(partial(_value, tree), kind, values)


def _has_times(tree: Type) -> bool:
    match tree:
        case Scalar(name):
            return name.startswith("timestamp")
        case Array(inner) | Map(inner):
            return _has_times(inner)
        case Struct(members):
            return any(_has_times(of) for _, of in members)
        case _:
            return False


def _needs(tree: Type) -> bool:
    """Whether a value has a part that Arrow does not take as msgspec gives it."""
    match tree:
        case Scalar(name):
            return name == "timestamp"
        case Array(element):
            return _needs(element)
        case Struct(members):
            return any(_needs(each) for _, each in members)
        case _:
            return True


def _value(tree: Type, value: Any) -> Any:
    """A part as Arrow takes it. Raises Wrong."""
    found = value
    if value is None:
        return None
    match tree:
        case Scalar("timestamp"):
            try:
                found = utc(value)
            except OverflowError:
                raise Wrong(OUTSIDE) from None
        case type_tree.Decimal():
            found = _decimal(tree, bytes(value).decode())
        case Array(element):
            found = [_value(element, each) for each in value]
        case Map(of):
            found = [(key, _value(of, each)) for key, each in value.items()]
        case Struct(members):
            found = {name: _value(of, value.get(name)) for name, of in members}
    return found


def _decimal(tree: type_tree.Decimal, raw: str) -> Decimal | None:
    if raw == "null":
        return None
    if raw.startswith('"'):
        raise Wrong("is text; a number as text is declared by format='text'")
    if not NUMBER.fullmatch(raw):
        raise Wrong("is no number")
    return checked(Decimal(raw), tree)


def _cut(tree: Type, value: Any) -> Any:
    """Texts of times to times."""
    found = value
    if value is None:
        return None
    match tree:
        case Scalar("timestamp"):
            found = read_time(value)
        case Scalar("timestamp_ntz"):
            found = read_local(value)
        case Array(element):
            found = [_cut(element, each) for each in value]
        case Map(of):
            found = {key: _cut(of, each) for key, each in value.items()}
        case Struct(members):
            found = {name: _cut(of, value[name]) for name, of in members if name in value}
    return found
