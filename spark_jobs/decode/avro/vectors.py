"""Vectors: the records of a writer's schema by whole columns, field by field in its order. A schema
with an array, a map, a wider union or itself in it has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from spark_jobs.decode.avro.decoder import branch, default, paired
from spark_jobs.decode.avro.leaf import leaf
from spark_jobs.decode.avro.shape import KINDS, wire
from spark_jobs.decode.columns.cursor import Cursor, Found
from spark_jobs.decode.schemed.at_once import DEEPEST, MOST, AtOnce, OneByOne, at_once
from spark_jobs.decode.schemed.fit import Kind
from spark_jobs.schemas.avro import NO_DEFAULT, Node, NodeField
from spark_jobs.values.path import Path

if TYPE_CHECKING:
    from spark_jobs.decode.schemed.objects import Objects

Step = Callable[[Cursor, Found], None]
"""Reads over a value, and puts there what it has found."""
OF_DEFAULTS: Final = {
    str: "text",
    bytes: "bytes",
    int: "whole number",
    float: "number",
    bool: "boolean",
}


class Vectors:
    """Of a writer's schema and a reader's. Raises OneByOne."""

    def __init__(self, writer: Node, reader: Node) -> None:
        self.kinds: dict[Path, Kind] = {}
        self._leaves = 0
        if writer.kind != "record" or branch(writer, reader) is not reader:
            raise OneByOne
        self._step = self._record(writer, reader, (), ())

    def read(self, cursor: Cursor) -> Found:
        """The columns of all fields of the reader."""
        found: Found = {}
        self._step(cursor, found)
        cursor.sure &= cursor.at == cursor.end
        return found

    def _value(
        self, writer: Node, reader: Node, path: Path | None, around: tuple[Node, ...]
    ) -> Step:
        if writer.kind == "union":
            return self._union(writer, reader, path, around)
        reads = branch(writer, reader)
        if reads is None:
            raise OneByOne
        if writer.kind == "record":
            return self._record(writer, reads, path, around)
        read = leaf(writer, reads)
        if read is None:
            raise OneByOne
        name = "decimal" if reads.logical == "decimal" else KINDS[reads.kind]
        return self._found(path, Kind(name, wire(reads), reads.scale), read)

    def _record(
        self, writer: Node, reader: Node, path: Path | None, around: tuple[Node, ...]
    ) -> Step:
        if writer in around or len(around) > DEEPEST:
            raise OneByOne
        pairs, missing = paired(writer, reader)
        steps = [self._absent(field, path) for field in missing]
        if path:
            steps.append(self._found(path, Kind("object"), Cursor.trues))
        for wrote, reads in pairs:
            to = None if path is None or reads is None else (*path, reads.name)
            node = (reads or wrote).node
            steps.append(self._value(wrote.node, node, to, (*around, writer)))

        def step(cursor: Cursor, found: Found) -> None:
            for each in steps:
                each(cursor, found)

        return step

    def _absent(self, field: NodeField, path: Path | None) -> Step:
        """A field of the reader that the writer has not."""
        if field.default is NO_DEFAULT:
            raise OneByOne
        try:
            value = default(field.node, field.default)
            constant = pa.scalar(value)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise OneByOne from None
        if value is None or path is None:
            return lambda *_: None
        kind = OF_DEFAULTS.get(type(value))
        if kind is None:
            raise OneByOne
        return self._found(
            (*path, field.name), Kind(kind), lambda cursor: pa.repeat(constant, len(cursor.at))
        )

    def _found(self, path: Path | None, kind: Kind, read: Callable[[Cursor], pa.Array]) -> Step:
        self._leaves += 1
        if self._leaves > MOST:
            raise OneByOne
        if path is not None:
            self.kinds[path] = kind

        def step(cursor: Cursor, found: Found) -> None:
            array = read(cursor)
            if path is not None:
                found[path] = array

        return step

    def _union(
        self, writer: Node, reader: Node, path: Path | None, around: tuple[Node, ...]
    ) -> Step:
        """Of null and one other type, in whichever order."""
        nulls = [part for part in writer.parts if part.kind == "null"]
        others = [part for part in writer.parts if part.kind != "null"]
        if len(nulls) != 1 or len(others) != 1:
            raise OneByOne
        inner = self._value(others[0], reader, path, around)
        of_other = 2 * writer.parts.index(others[0])
        may_be_null = branch(nulls[0], reader) is not None

        def step(cursor: Cursor, found: Found) -> None:
            index = cursor.byte()
            there = index == of_other
            if there.all():
                inner(cursor, found)
                return
            cursor.sure &= there | ((index == 2 - of_other) & may_be_null)
            found |= cursor.where(there, inner)

        return step


def vectors(writer: Node, reader: Node, objects: Objects) -> AtOnce | None:
    """For the records of these schemas, if they have one."""
    try:
        made = Vectors(writer, reader)
    except (OneByOne, RecursionError):
        return None
    return at_once(objects, made.kinds, made.read)
