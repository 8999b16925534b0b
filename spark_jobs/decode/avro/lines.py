"""Lines: those of the functions that read values of a writer's schema as a reader's."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from typing import Any, Final

from spark_jobs.decode.avro import wire
from spark_jobs.decode.avro.resolution import branch, default, mismatch, paired, said, shown
from spark_jobs.decode.schemas.avro import NO_DEFAULT, Node

NEST: Final = "    "


class Lines:
    """Of the functions under way."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.paths: list[str] = []
        self.names: dict[str, Any] = {
            **{name: getattr(wire, name) for name in wire.__dict__ if not name.startswith("_")},
            "float_": struct.Struct("<f").unpack_from,
            "double_": struct.Struct("<d").unpack_from,
        }
        self._functions: dict[tuple[int, int, bool], str] = {}
        self._waiting: list[tuple[str, Node, Node, bool]] = []
        self._count = 0
        self._path = ""
        self._in_blocks = False
        """Whether the lines are of the members of an array or a map."""

    def top(self, writer: Node, reader: Node, keep: list[str], raw: Collection[str]) -> None:
        """The function for a whole value, and then those that it calls."""
        self._line(0, "def decode(b, p=0):")
        self._line(1, "end = len(b)")
        if why := mismatch(writer, reader):
            self._line(1, f"raise Wrong({why!r})")
        if writer.kind == reader.kind == "record":
            given = self._fields(1, writer, reader, keep, raw)
        else:  # a union of records, for one
            whole = self._value(1, writer, reader)
            self._line(1, f'if type({whole}) is not dict: raise Wrong("it is no record")')
            given = {name: f"{whole}.get({name!r})" for name in keep}
        self._path = ""
        self._line(1, 'if p != end: raise Wrong(f"{end - p} bytes follow the record")')
        self._line(1, f"return ({''.join(f'{given[name]}, ' for name in keep)})")
        self._others()

    def passing(self, writer: Node) -> None:
        """The function that reads over a record, and then those that it calls."""
        self._line(0, "def passes(b, p):")
        self._line(1, "end = len(b)")
        self._skip(1, writer)
        self._line(1, "return p")
        self._others()

    def _others(self) -> None:
        while self._waiting:
            name, wrote, reads, raw_parts = self._waiting.pop()
            self._path = ""
            self._line(0, f"def {name}(b, p, end):")
            if reads.kind == "record":
                every = [each.name for each in reads.fields]
                values = self._fields(1, wrote, reads, every, every if raw_parts else ())
                pairs = ", ".join(f"{each!r}: {values[each]}" for each in every)
                self._path = ""
                self._line(1, f"return {{{pairs}}}, p")
            else:
                self._line(1, f"return {self._value(1, wrote, reads, raw=raw_parts)}, p")

    def _fields(
        self, depth: int, writer: Node, reader: Node, keep: list[str], raw: Collection[str]
    ) -> dict[str, str]:
        """Reads a record. Name of each kept field -> the variable with its value."""
        given = dict.fromkeys(keep, "None")
        pairs, missing = paired(writer, reader)
        for field in missing:
            self._path = f".{field.name}"
            if field.default is NO_DEFAULT:
                self._line(
                    depth, 'raise Wrong("the writer has no such field, and the reader no default")'
                )
            elif field.name in given:
                given[field.name] = self._constant(
                    default(field.node, field.default, raw=field.name in raw)
                )
        for wrote, reads in pairs:
            self._path = f".{(reads or wrote).name}"
            if reads is None or reads.name not in given:
                self._skip(depth, wrote.node)
                if reads is not None and (why := mismatch(wrote.node, reads.node)):
                    self._line(depth, f"raise Wrong({why!r})")
            else:
                given[reads.name] = self._value(
                    depth, wrote.node, reads.node, raw=reads.name in raw
                )
        return given

    def _value(self, depth: int, writer: Node, reader: Node, *, raw: bool = False) -> str:
        """Reads a value. The variable with it."""
        out = self._new()
        if writer.kind == "union":
            self._of_branch(depth, writer, lambda at, part: self._put(at, out, part, reader, raw))
            return out
        self._put(depth, out, writer, reader, raw)
        return out

    def _put(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        reads = branch(writer, reader)
        if reads is None:
            why = (
                mismatch(writer, reader)
                or f"the writer has {said(writer)}, and the reader's union does not"
            )
            self._line(depth, f"raise Wrong({why!r})")
            return
        if writer.kind == "record" or (self._in_blocks and writer.kind in {"array", "map"}):
            self._call(depth, out, writer, reads, raw)
        else:
            getattr(self, f"_{writer.kind}")(depth, out, writer, reads, raw)

    def _of_branch(self, depth: int, writer: Node, take: Callable[[int, Node], None]) -> None:
        """Reads a union's index, and each branch by `take`."""
        index = self._number(depth)
        word = "if"
        # The null is the rare one.
        order = sorted(enumerate(writer.parts), key=lambda each: each[1].kind == "null")
        for place, part in order:
            self._line(depth, f"{word} {index} == {2 * place}:")
            take(depth + 1, part)
            word = "elif"
        self._line(depth, 'else: raise Wrong("it has a type that its union lacks")')

    def _null(self, depth: int, out: str, *_: Any) -> None:
        self._line(depth, f"{out} = None")

    def _boolean(self, depth: int, out: str, *_: Any) -> None:
        self._line(depth, f"{out} = b[p]; p += 1")
        self._line(depth, f'if {out} > 1: raise Wrong("a boolean is neither 0 nor 1")')
        self._line(depth, f"{out} = {out} == 1")

    def _int(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        found = self._number(depth)
        self._line(depth, f"{out} = ({found} >> 1) ^ -({found} & 1)")
        if writer.kind == "int":
            self._line(depth, f'if {found} >> 32: raise Wrong("a number does not fit 32 bits")')
        self._shown(depth, out, writer, reader, raw)

    _long = _int

    def _float(self, depth: int, out: str, writer: Node, *_: Any) -> None:
        size = 4 if writer.kind == "float" else 8
        self._line(depth, f"if p + {size} > end: raise Wrong(SHORT)")
        self._line(depth, f"{out} = {writer.kind}_(b, p)[0]; p += {size}")

    _double = _float

    def _string(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        content = self._content(depth)
        if reader.kind == "string":
            # The bytes of a text that was declared as bytes need not be one.
            self._line(depth, f'{out} = str({content}, "utf-8")')
        elif writer.kind == "string":
            self._line(depth, f'{out} = {content}; str({content}, "utf-8")')
        else:
            self._line(depth, f"{out} = {content}")
            self._shown(depth, out, writer, reader, raw)

    _bytes = _string

    def _fixed(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        self._line(depth, f"if p + {writer.size} > end: raise Wrong(SHORT)")
        self._line(depth, f"{out} = b[p:p + {writer.size}]; p += {writer.size}")
        self._shown(depth, out, writer, reader, raw)

    def _enum(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:  # noqa: ARG002
        known = set(reader.symbols)
        table = [each if each in known else reader.default for each in writer.symbols]
        found = self._number(depth)
        self._line(
            depth,
            f"if {found} & 1 or {found} >= {2 * len(table)}: "
            'raise Wrong("it has a symbol that its enum lacks")',
        )
        self._line(depth, f"{out} = {self._constant(table)}[{found} >> 1]")
        if None in table:
            self._line(depth, f'if {out} is None: raise Wrong("the reader lacks this symbol")')

    def _array(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        self._line(depth, f"{out} = []")
        self._blocks(
            depth,
            lambda at: self._line(
                at, f"{out}.append({self._value(at, writer.parts[0], reader.parts[0], raw=raw)})"
            ),
        )

    def _map(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        self._line(depth, f"{out} = {{}}")

        def pair(at: int) -> None:
            key = self._new()
            self._line(at, f'{key} = str({self._content(at)}, "utf-8")')
            value = self._value(at, writer.parts[0], reader.parts[0], raw=raw)
            self._line(at, f"{out}[{key}] = {value}")

        self._blocks(depth, pair)

    def _call(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        """A function of its own: of a record, which may have itself in it, and of an array in
        another, since Python takes no more than twenty loops in each other.
        """
        key = id(writer), id(reader), raw
        if key not in self._functions:
            self._functions[key] = self._name("read")
            self._waiting.append((self._functions[key], writer, reader, raw))
        self._line(depth, f"{out}, p = {self._functions[key]}(b, p, end)")

    def _blocks(self, depth: int, item: Callable[[int], None]) -> None:
        count, until, loop = self._new(), self._new(), self._new()
        before, self._path = self._path, f"{self._path}[...]"
        self._in_blocks = True
        self._line(depth, "while True:")
        self._line(depth + 1, f"{count} = b[p]; p += 1")
        self._line(depth + 1, f"if {count} == 0: break")
        self._line(depth + 1, f"if {count} > 127: {count}, p = number(b, p - 1)")
        self._line(depth + 1, f"{count}, p, {until} = items(b, p, {count})")
        self._line(depth + 1, f"for {loop} in range({count}):")
        item(depth + 2)
        self._line(
            depth + 1, f'if {until} != p and {until} >= 0: raise Wrong("a block has a wrong size")'
        )
        self._path, self._in_blocks = before, False

    def _skip(self, depth: int, writer: Node) -> None:
        """Reads over a value that nobody wants."""
        if writer.kind == "union":
            self._of_branch(depth, writer, self._skip)
        elif writer.kind == "null":
            self._line(depth, "pass")
        elif writer.kind in {"string", "bytes"}:
            self._content(depth, skip=True)
        else:
            self._put(depth, self._new(), writer, writer, raw=True)

    def _number(self, depth: int) -> str:
        found = self._new()
        self._line(depth, f"{found} = b[p]; p += 1")
        self._line(depth, f"if {found} > 127: {found}, p = number(b, p - 1)")
        return found

    def _content(self, depth: int, *, skip: bool = False) -> str:
        size, content = self._number(depth), self._new()
        self._line(depth, f'if {size} & 1: raise Wrong("a length is negative")')
        self._line(depth, f"{size} = p + ({size} >> 1)")
        self._line(depth, f"if {size} > end: raise Wrong(SHORT)")
        self._line(depth, f"p = {size}" if skip else f"{content} = b[p:{size}]; p = {size}")
        return content

    def _shown(self, depth: int, out: str, writer: Node, reader: Node, raw: bool) -> None:
        """From the number or the bytes on the wire to the value of the logical type."""
        if value := shown(reader, out, raw=raw):
            self._line(depth, f"{out} = {value}")
        elif reader.kind in {"float", "double"} and writer.kind in {"int", "long"}:
            self._line(depth, f"{out} = float({out})")

    def _line(self, depth: int, text: str) -> None:
        self.lines.append(NEST * depth + text)
        self.paths.append(self._path)

    def _new(self) -> str:
        return self._name("v")

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _constant(self, value: Any) -> str:
        name = self._name("k")
        self.names[name] = value
        return name  # nobody changes a value of a record
