"""Connect: the schema that Kafka Connect's JSON converter writes beside each payload, held against
the topic's fields. It says what values do not show: a decimal's scale, a time's unit.

Source: org.apache.kafka.connect.json.JsonConverter; Debezium's "temporal types".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spark_jobs.decode.columns.column import Column, each_value
from spark_jobs.decode.columns.text_column import decimal_of_base64
from spark_jobs.decode.columns.times import NANOSECONDS
from spark_jobs.decode.formats import REFUSED
from spark_jobs.decode.json.leaf import leaf
from spark_jobs.spec.fields.place import PAYLOAD
from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.type_tree import Array, Decimal, Map, Scalar, Struct, Type

if TYPE_CHECKING:
    from spark_jobs.spec import Field
    from spark_jobs.values.path import Path, Step

Node = Mapping[str, Any]
"""One part of such a schema. Any: whatever a producer wrote. Empty where nothing is said."""
Read = Callable[[Sequence[Any]], Column]
KNOWN: Final = 64
"""Schemas that a task keeps: the records of a table mostly have one."""
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
UNITS: Final = {
    "org.apache.kafka.connect.data.Timestamp": "ms",
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
    "org.apache.kafka.connect.data.Date": "days",
    "io.debezium.time.Date": "days",
}
"""Name of a number that is a time or a date -> its unit."""
THEIRS: Final = ("org.apache.kafka.connect.data.", "io.debezium.time.")
"""Beginnings of the names that are known: another of these is a time of day, a year, a span."""
NUMBERS: Final = ("int8", "int16", "int32", "int64", "float32", "float64")
UNSAID: Final = ""
SAID: Final = {
    "decimal": "a decimal in base64",
    "text": "text",
    "bytes": "bytes in base64",
    "days": "a date",
    "number": "a number",
    "other": "neither a time since 1970 nor a date",
    **dict.fromkeys(NANOSECONDS, "a time since 1970"),
}
"""What a part is -> how a reason calls it: none of the record's own words."""
AS_DECLARED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(NANOSECONDS, ("number", "text")),
    "days": ("days", "number", "text"),
}
"""Format of a field -> what it reads beside what is of its own unit. Of any other format: text."""


class Schema:
    """The schema of some records."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._reads: dict[tuple[str, tuple[Path | None, ...]], tuple[Read | None, ...]] = {}

    def reads(self, field: Field, paths: tuple[Path | None, ...]) -> tuple[Read | None, ...]:
        """Of each path, which begins at the payload, what reads the field's values there; None
        where the field's own way does. Of None the schema says nothing.
        """
        key = field.name, paths
        if key not in self._reads:
            self._reads[key] = tuple(
                read_of(field, _at(self._root, path)) if path is not None else None
                for path in paths
            )
        return self._reads[key]


class Schemas:
    """Those beside the payloads at one place of the records."""

    def __init__(self, place: Path) -> None:
        """`place`: the object that has schema and payload."""
        self.place = place
        kind: Any = msgspec.Raw
        for step in ("schema", *reversed(place)):
            fields = [("inner", kind | None if kind is not msgspec.Raw else kind, None)]
            kind = msgspec.defstruct("Beside", fields, rename={"inner": str(step)})
        self._find = msgspec.json.Decoder(kind).decode
        self._parsed = lru_cache(KNOWN)(_parsed)

    def of(self, values: Iterable[bytes | None]) -> list[Schema | None]:
        """The schema of each record; None for one without."""
        return [self._of(value) if value else None for value in values]

    def _of(self, value: bytes) -> Schema | None:
        try:
            at: Any = self._find(value)
        except REFUSED:  # the records' own decoder says why
            return None
        for _ in ("schema", *self.place):
            at = at and at.inner
        return self._parsed(bytes(at)) if at else None


def beside(path: Path) -> Path | None:
    """The object that has the first payload of a path, and may have its schema; None without one.

    >>> beside(("data", "payload", "after", "id")), beside(("payload",)), beside(("id",))
    (('data',), (), None)
    """
    at = path.index(PAYLOAD) if PAYLOAD in path else len(path)
    known = at < len(path) and all(isinstance(step, str) for step in path[:at])
    return path[:at] if known else None


def read_of(field: Field, node: Node) -> Read | None:
    """What reads a field's values by the schema; None where the field's own way does."""
    tree, format_ = field.tree, field.format
    given = _unfit(tree, node) if format_ is None else _written(node)
    if given == UNSAID or _as_declared(field, node, given):
        return None
    scale = _scale(node) if (given, format_) == ("decimal", "base64") else None
    if scale is not None and isinstance(tree, Decimal):
        return partial(each_value, decimal_of_base64(tree, scale), field.type)
    if given in NANOSECONDS and format_ in NANOSECONDS:
        return leaf(field.model_copy(update={"format": given})).column
    return partial(_refused, field, given)


def _as_declared(field: Field, node: Node, given: str) -> bool:
    """Whether the field's own format reads it rightly."""
    if field.format == "base64":
        own = isinstance(field.tree, Decimal) and field.tree.scale
        return given == "decimal" and _scale(node) == own
    known = AS_DECLARED.get(str(field.format), ("text",)) if field.format else ()
    return field.format == "json" or given in (field.format, *known)


def spliced(values: Sequence[Any], own: Read, others: Mapping[Read, Sequence[int]]) -> Column:
    """The column of values that are read in several ways, by their numbers; the rest by `own`."""
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

    rest, order = [*values], [*range(len(values))]
    for numbers in others.values():
        for number in numbers:
            rest[number] = None
    first = own(rest)
    arrays, wrong = [first.array], {**first.wrong}
    for read, numbers in others.items():
        part = read([values[number] for number in numbers])
        start = sum(map(len, arrays))
        for index, number in enumerate(numbers):
            order[number] = start + index
        wrong |= {numbers[index]: why for index, why in part.wrong.items()}
        arrays.append(part.array)
    return Column(pa.concat_arrays(arrays).take(pa.array(order, pa.int64())), wrong)


def _parsed(raw: bytes) -> Schema | None:
    try:
        found = msgspec.json.decode(raw)
    except REFUSED:
        return None
    of_connect = isinstance(found, dict) and isinstance(found.get("type"), str)
    return Schema(found) if of_connect else None


def _at(node: Node, path: Path) -> Node:
    for step in path:
        node = _inner(node, step)
    return node


def _inner(node: Node, step: Step) -> Node:
    kind = node.get("type")
    found: Any = None
    if kind == "struct" and isinstance(fields := node.get("fields"), list):
        found = next((f for f in fields if isinstance(f, dict) and f.get("field") == step), None)
    elif kind in ("array", "map"):
        found = node.get("items" if kind == "array" else "values")
    return found if isinstance(found, dict) else {}


def _written(node: Node) -> str:
    """What its values are: a key of SAID; UNSAID for an object, an array, or what is unknown."""
    name, kind = str(node.get("name") or ""), node.get("type")
    if name == DECIMAL:
        return "decimal"
    if name in UNITS:
        return UNITS[name]
    if kind in NUMBERS:
        return "other" if name.startswith(THEIRS) else "number"
    return {"string": "text", "bytes": "bytes"}.get(str(kind), UNSAID)


def _scale(node: Node) -> int | None:
    has = node.get("parameters")
    try:
        return int(has["scale"]) if isinstance(has, dict) else None
    except (KeyError, TypeError, ValueError):
        return None


def _unfit(tree: Type, node: Node) -> str:
    """What the schema has that JSON writes as it writes the type; empty without such a thing. All
    other values show what they are.
    """
    match tree:
        case Scalar("string"):
            return given if (given := _written(node)) in ("bytes", "decimal") else ""
        case Scalar("binary"):
            return given if (given := _written(node)) == "text" else ""
        case Array(inner):
            return _unfit(inner, _inner(node, 0))
        case Map(inner):
            return _unfit(inner, _inner(node, ""))
        case Struct(members):
            parts = (_unfit(each, _inner(node, name)) for name, each in members)
            return next(filter(None, parts), "")
        case _:
            return ""


def _refused(field: Field, given: str, values: Sequence[Any]) -> Column:
    import pyarrow as pa  # noqa: PLC0415 - as above

    written = f" with format={field.format!r}" if field.format else ""
    why = f"is {SAID[given]} by the record's own schema, which {field.type}{written} does not read"
    numbers = range(len(values))
    return Column(pa.nulls(len(values), arrow_type(field.type)), dict.fromkeys(numbers, why))
