"""Decoder of a format whose records are read by a schema: the declared one, or the registry's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.decode.schemed.objects import Objects
from spark_jobs.decode.schemed.registered import Given, Reader, Registered, counted, header_of
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.fields.each import levels
from spark_jobs.values import type_tree
from spark_jobs.values.path import as_text

if TYPE_CHECKING:
    from spark_jobs.decode.schemas.schema import Schema
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Avro, Field, Protobuf, Topic
    from spark_jobs.spec.fields.place import Place
    from spark_jobs.values.path import Path, Step

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
    inner: Callable[[Step], Shape | None]
    """What is at a key of an object, or at a place of an array; None if nothing is."""


def scalar(*kinds: str) -> Shape:
    """Of a value without parts."""
    return Shape(frozenset(kinds), lambda _: None)


def either(shapes: Iterable[Shape]) -> Shape:
    """Of a union."""
    parts = [*shapes]

    def inner(key: Step) -> Shape | None:
        found = [each for part in parts if (each := part.inner(key)) is not None]
        return either(found) if found else None

    return Shape(frozenset[str]().union(*(part.kinds for part in parts)), inner)


def of_element(topic: Topic, shape: Shape) -> Shape:
    """Of an element, as spec/fields/each.py has it; of the value where it is one record. Raises
    SpecInvalid if the schema has no such lists of records.
    """
    if topic.each is None:
        return shape
    ways, around = levels(topic.each), [shape]
    for way in ways:
        found = _at(around[-1], way)
        if found is None or not {ANY, "array"} & found.kinds:
            raise SpecInvalid.schema_without_list(topic=topic.name, where=as_text(way))
        around.append(found.inner(0) or scalar(ANY))
    inward = [*reversed(around)]
    return Shape(frozenset(("object",)), lambda up: inward[int(str(up))])


def refuse(topic: Topic, places: Iterable[Place], shape: Shape) -> None:
    """Raise SpecInvalid if the topic's schema gives a field what it cannot be."""
    for place in places:
        _refuse(topic.name, place, shape)


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


class SchemedDecoder(ABC):
    """As the port has it. `placed`: whether the places of the message are behind an id."""

    def __init__(
        self, objects: Objects, given: Given | None, declared: Schema, *, placed: bool = False
    ) -> None:
        self._objects = objects
        self._registered = given and Registered(self._objects, given, self._of, placed=placed)
        self._alone = None if given else self._of(declared)

    counted = staticmethod(counted)

    @classmethod
    def refuse(cls, format_: Any, topic: Topic, places: Sequence[Place]) -> None:
        """As the port has it."""
        if shape := cls.shape(format_, topic):
            of_value = any(place.field.part == "value" for place in places)
            refuse(topic, places, of_element(topic, shape) if of_value else shape)

    @staticmethod
    @abstractmethod
    def shape(format_: Any, topic: Topic) -> Shape | None:
        """Of the declared schema; None where the registry alone knows it."""

    @staticmethod
    def prepare(
        format_: Avro | Protobuf, topic: Topic, root: str, settings: Settings | None
    ) -> Given | None:
        """The schemas that are kept of the format's registry. An id may lack without `settings`,
        and where records had more ids than the run's look asks for.
        """
        if not format_.registry:
            return None
        from spark_jobs.decode.schemas.kept import Kept  # noqa: PLC0415 - executors keep no schemas

        part = "key" if format_ is topic.key else "value"
        header = header_of(part) if format_.id_in == "header" else ""
        kept = Kept(root, format_.registry)
        return Given(kept.schemas(), settings is not None and not kept.has_others(), header)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        if self._registered:
            return self._registered.decode(records)
        assert self._alone
        values = records.values.to_pylist()
        read = self._alone.read([value or b"" for value in values], 0)
        for index, value in enumerate(values):
            if value is None or (not value and index in read.wrong):  # no bytes may be all defaults
                read.wrong[index] = TOMBSTONE if value is None else EMPTY
        return self._objects.columns(read, len(values))

    @abstractmethod
    def _of(self, schema: Schema) -> Reader:
        """Reads what this schema has written."""
