"""Avro decoder: one Python function, compiled from a writer's schema that is resolved into a
reader's by Avro's rules.

A function for a pair of schemas is four times as quick as one for all: numbers and texts are read
in line, and no type is looked up. Each line of it belongs to a field, so an error's line says where
it happened, which costs nothing where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from spark_jobs.decode.avro.lines import Lines
from spark_jobs.decode.schemas.avro import Node
from spark_jobs.decode.schemed.unreadable import unreadable

FILE: Final = "<avro>"


class Compiled(NamedTuple):
    """The function, and where its lines are."""

    decode: Callable[..., tuple[Any, ...]]
    """Of bytes, from a place in them on: the values of the kept fields, in the order of `keep`."""
    lines: list[str]
    """Path of each line; the first is of line 1."""

    def where(self, error: BaseException) -> str:
        """The path of the field in which the error was raised, such as `$.user.id`."""
        path, frame = "$", error.__traceback__
        while frame:
            if frame.tb_frame.f_code.co_filename == FILE:
                path += self.lines[frame.tb_lineno - 1]
            frame = frame.tb_next
        return path


def compiled(
    writer: Node, reader: Node, keep: Collection[str], raw: Collection[str], *, alone: bool = False
) -> Compiled:
    """The function that reads a record of the writer and gives these fields of the reader's.

    The fields in `raw` give what is on the wire: numbers for times and dates. `alone`: a time that
    cannot be held is Unreadable, and hides no other value.
    """
    code = Lines()
    if alone:
        code.names |= {name: unreadable(code.names[name]) for name in ("time", "local_time", "day")}
    code.top(writer, reader, list(keep), raw)
    source = "\n".join(code.lines)
    exec(compile(source, FILE, "exec"), code.names)
    return Compiled(code.names["decode"], code.paths)


def passing(writer: Node) -> Callable[[bytes, int], int]:
    """The function that reads over a record of the writer: from its place in bytes to the place
    behind it. It raises what decoding one does.
    """
    code = Lines()
    code.passing(writer)
    exec(compile("\n".join(code.lines), FILE, "exec"), code.names)
    passes: Callable[[bytes, int], int] = code.names["passes"]
    return passes
