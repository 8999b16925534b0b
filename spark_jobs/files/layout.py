"""Layout: the port of a kind of file: where its records are. A format names its own
(spec/formats/format.py).
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spark_jobs.spec import Files

STEP: Final = 50_000
"""Records between two marks."""
PACKED: Final = (".bz2", ".lz4", ".lzo", ".snappy", ".xz", ".z", ".zip", ".zst")
"""Endings of names that say that a file is compressed as Sluice does not read it."""


class Counted(NamedTuple):
    """What a part of a file has."""

    records: int
    marks: tuple[int, ...] = ()
    """Where each STEP-th record begins; nothing where reading begins at the file's first byte."""
    ended: bool = True
    """Whether the last record has the end of a line."""


class At(NamedTuple):
    """From where on records are read."""

    begin: int
    """A mark, or the file's first byte."""
    skip: int
    """How many records from there on are left out."""
    stop: int
    """Where the file ended when it was noted."""


class Layout(Protocol):
    """Of the files of one declaration. A file that it cannot read raises FilesUnfit, when it is
    counted at the latest.
    """

    def __init__(self, declared: Files) -> None: ...

    def refuse_name(self, name: str) -> None:
        """Raise FilesUnfit for a file that its name already refuses."""

    def grows(self, name: str, *, ended: bool, more: bytes) -> bool:
        """Whether records may come behind the last one. `ended`: as counted; `more`: what follows,
        its first two bytes at least.
        """

    def count(self, file: IO[bytes], name: str, start: int, stop: int) -> Counted:
        """All records from the byte `start` up to `stop`, where the file ended when it was seen."""

    def read(self, file: IO[bytes], name: str, at: At) -> Iterator[bytes]:
        """The records that are there."""

    def place(self, file: IO[bytes], name: str, at: At) -> str:
        """Where the first of them is, for a reader: `line 17`."""


def layout_of(declared: Files) -> Layout:
    """The layout that the format names."""
    return cast("Layout", resolve_name(declared.format.layout)(declared))
