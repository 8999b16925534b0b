"""Shape: what a declared schema gives at each place, and whether a topic's fields can be of it.

Told before a run, and by `sluice validate`: with a field of another type every record would be
malformed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.errors import SpecInvalid
from spark_jobs.values import type_tree
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from spark_jobs.spec import Field
    from spark_jobs.spec.fields.place import Place
    from spark_jobs.values.path import Path

ANY: Final = "anything"
TAKES: Final[dict[str, tuple[str, ...]]] = {
    "string": ("text",),
    **dict.fromkeys(("smallint", "int", "bigint"), ("whole number",)),
    **dict.fromkeys(("float", "double"), ("number", "whole number")),
    "boolean": ("boolean",),
    "binary": ("bytes",),
    "timestamp": ("timestamp", "text"),
    "timestamp_ntz": ("timestamp_ntz", "text"),
    "date": ("date", "text"),
    "decimal": ("decimal", "whole number"),
    "array": ("array",),
    "map": ("object",),
    "struct": ("object",),
}
"""Kind of a field -> the kinds of values that it takes (objects.py)."""
WRITTEN: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("s", "ms", "us", "ns"), ("whole number", "text")),
    "days": ("whole number", "text"),
    "base64": ("text", "decimal", "whole number"),
}
"""Format of a field -> those. Of any other format: text."""


class Shape(NamedTuple):
    """The values of a schema, but for null."""

    kinds: frozenset[str]
    """text, whole number, number, boolean, bytes, timestamp, timestamp_ntz, date, decimal, array,
    object; ANY where nobody can tell.
    """
    inner: Callable[[str | int], Shape | None]
    """What is at a key of an object, or at a place of an array; None if nothing is."""


def scalar(*kinds: str) -> Shape:
    """Of a value without parts."""
    return Shape(frozenset(kinds), lambda _: None)


def either(shapes: Iterable[Shape]) -> Shape:
    """Of a union."""
    parts = [*shapes]

    def inner(key: str | int) -> Shape | None:
        found = [each for part in parts if (each := part.inner(key)) is not None]
        return either(found) if found else None

    return Shape(frozenset[str]().union(*(part.kinds for part in parts)), inner)


def refuse(topic: str, places: Iterable[Place], shape: Shape) -> None:
    """Raise SpecInvalid if the topic's schema gives a field what it cannot be."""
    for place in places:
        _refuse(topic, place, shape)


def _refuse(topic: str, place: Place, shape: Shape | None) -> None:
    field = place.field
    whole = [(*base, *path) for base in place.bases for path in place.paths]
    there = [(path, each) for path in whole if (each := _at(shape, path)) is not None]
    where = as_text(whole[0])
    if not there and field.required:
        raise SpecInvalid.schema_lacks(topic=topic, field=field.name, where=where)
    for path, each in there:
        if why := next(_wrong(field, each), ""):
            at = as_text(path)
            raise SpecInvalid.schema_disagrees(
                topic=topic, field=field.name, given=field.type, where=at, why=why
            )


def _at(shape: Shape | None, path: Path) -> Shape | None:
    for key in path:
        if shape is None or ANY in shape.kinds:
            break
        shape = shape.inner(key)
    return shape


def _wrong(field: Field, shape: Shape) -> Iterator[str]:
    """What the schema has, if the field cannot be it."""
    if field.format == "json":
        return
    if field.format is not None:
        yield from _unless(shape, WRITTEN.get(str(field.format), ("text",)))
    else:
        yield from _unfit(field.tree, shape)


def _unless(shape: Shape, wanted: tuple[str, ...]) -> Iterator[str]:
    if ANY not in shape.kinds and not {*wanted} & shape.kinds:
        yield " or ".join(sorted(shape.kinds)) or "null alone"


def _unfit(tree: type_tree.Type, shape: Shape | None) -> Iterator[str]:
    if shape is None or ANY in shape.kinds:
        return
    kind = type_tree.as_text(tree).partition("<")[0].partition("(")[0]
    yield from _unless(shape, TAKES[kind])
    match tree:
        case type_tree.Array(element):
            yield from _unfit(element, shape.inner(0))
        case type_tree.Map(value):
            yield from _unfit(value, shape.inner(""))
        case type_tree.Struct(members):
            for name, each in members:
                yield from _unfit(each, shape.inner(name))
        case _:
            return
