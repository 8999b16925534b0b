"""Avro records: each by the schema that wrote it, which a registry has or the topic declares."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.avro.decoder import Compiled, compiled
from spark_jobs.decode.avro.wire import SHORT
from spark_jobs.decode.schemas.avro import Node, SchemaInvalid, parse
from spark_jobs.decode.schemas.schema import Schema
from spark_jobs.decode.schemed.decoder import ANY, SchemedDecoder, Shape, either, scalar
from spark_jobs.decode.schemed.objects import Objects, Read, Wire
from spark_jobs.decode.schemed.registered import Given
from spark_jobs.errors import SpecInvalid

if TYPE_CHECKING:
    from spark_jobs.spec import Avro, Topic
    from spark_jobs.spec.fields.place import Place

KINDS: Final = {
    **dict.fromkeys(("string", "enum"), "text"),
    **dict.fromkeys(("int", "long"), "whole number"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("bytes", "fixed"), "bytes"),
    "boolean": "boolean",
}
LOGICAL: Final = {
    "date": "date",
    "decimal": "decimal",
    "uuid": "text",
    **{f"timestamp-{unit}": "timestamp" for unit in ("millis", "micros", "nanos")},
    **{f"local-timestamp-{unit}": "timestamp_ntz" for unit in ("millis", "micros", "nanos")},
}

UNITS: Final = {"millis": "ms", "micros": "us", "nanos": "ns"}
ZONED: Final = {"timestamp": "timestamp", "local-timestamp": "timestamp_ntz"}


def shape_of(node: Node) -> Shape:
    """Of a type; of one in a union, one of them."""
    if node.kind == "union":
        return either(shape_of(part) for part in node.parts if part.kind != "null")
    if node.kind == "record":
        fields = {each.name: each.node for each in node.fields}
        return Shape(
            frozenset(("object",)),
            lambda key: shape_of(fields[str(key)]) if key in fields else None,
        )
    if node.kind in ("array", "map"):
        [part] = node.parts
        kind = "array" if node.kind == "array" else "object"
        return Shape(frozenset((kind,)), lambda _: shape_of(part))
    if node.logical:
        return scalar(LOGICAL.get(node.logical, ANY))
    return scalar(KINDS.get(node.kind, ANY))


def wire(node: Node) -> Wire | None:
    """How its numbers are times, alone or in a union with null."""
    if node.kind == "union":
        parts = [part for part in node.parts if part.kind != "null"]
        node = parts[0] if len(parts) == 1 else node
    if node.logical == "date":
        return Wire("date", "days")
    kind, _, unit = node.logical.rpartition("-")
    return Wire(ZONED[kind], UNITS[unit]) if kind in ZONED else None


REFUSED: Final = (ValueError, IndexError, OverflowError, RecursionError)
"""What decoding raises for a malformed record."""


class AvroDecoder(SchemedDecoder):
    """As the port has it."""

    def __init__(
        self,
        format_: Avro,
        places: Sequence[Place],
        wanted: Sequence[str],
        given: Given | None,
        objects: Objects | None = None,
    ) -> None:
        self._reads = parse(format_.reader) if format_.reader else None
        declared = Schema("AVRO", format_.wrote, (), None)
        super().__init__(objects or Objects(places, wanted), given, declared)

    @staticmethod
    def shape(format_: Avro, topic: Topic) -> Shape | None:
        """Of the declared schema by which fields are found; None without one. Raises SpecInvalid if
        a declared one is none.
        """
        found = None
        for name, text in (("writer", format_.writer), ("reader", format_.reader)):
            try:
                found = parse(text) if text else found
            except SchemaInvalid as error:
                raise SpecInvalid.no_avro_schema(
                    topic=topic.name,
                    name=name,
                    error=error,
                ) from None
        return shape_of(found) if found else None

    def _of(self, schema: Schema) -> SchemaReader:
        return SchemaReader(schema, self._reads, self._objects)


class SchemaReader:
    """Reads what a writer's schema has written."""

    def __init__(self, schema: Schema, reads: Node | None, objects: Objects) -> None:
        self._why, self._tops = "", tuple[str, ...]()
        self._wire: dict[str, Wire] = {}
        if schema.kind != "AVRO":
            self._why = f"its schema is of {schema.kind}, not of AVRO"
            return
        try:
            writer = parse(schema.text, [text for _, text in schema.references])
        except SchemaInvalid as error:
            self._why = f"its schema is no Avro schema: {error}"
            return
        reader = reads or writer
        known = {each.name: each.node for each in _fields(reader)}
        self._tops = tuple(name for name in objects.tops if name in known)
        self._wire = {
            name: at
            for name in self._tops
            if name in objects.raw and (at := wire(known[name])) and reader.kind == "record"
        }
        self._compiled: Compiled = compiled(
            writer, reader, self._tops, set(self._wire), alone=objects.alone
        )
        self._nulls = (None,) * len(self._tops)

    def read(self, values: Sequence[bytes], start: int) -> Read:
        """As registered.Reader has it."""
        if self._why:
            return Read({}, {}, dict.fromkeys(range(len(values)), self._why))
        rows: list[tuple[Any, ...]] = []
        wrong: dict[int, str] = {}
        rest = iter(values)
        while len(rows) < len(values):
            try:
                for row in map(self._compiled.decode, rest, repeat(start)):
                    rows.append(row)  # noqa: PERF402 - those before a bad one must stay
            except REFUSED as error:  # `rest` is behind the bad one
                wrong[len(rows)] = f"`{self._compiled.where(error)}`: {_said(error)}"[:180]
                rows.append(self._nulls)
        columns = [*map(list, zip(*rows, strict=True))] if rows else [[] for _ in self._tops]
        return Read(dict(zip(self._tops, columns, strict=True)), self._wire, wrong)


def _said(error: Exception) -> str:
    if isinstance(error, IndexError):
        return SHORT
    if isinstance(error, UnicodeDecodeError):
        return "a text is no UTF-8"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, OverflowError):
        return "a time is outside the years 1 to 9999"
    return str(error)


def _fields(node: Node) -> list[Any]:
    """Of a record; of a union those of all its records."""
    if node.kind == "union":
        return [each for part in node.parts for each in _fields(part)]
    return [*node.fields]
