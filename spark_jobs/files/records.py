"""Records: reads records by their numbers, in tasks, from the files that the list names."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from spark_jobs.files.folder import file_at
from spark_jobs.files.layout import STEP, At, layout_of
from spark_jobs.files.look import refuse_changed
from spark_jobs.files.noted import Listed, read_listed
from spark_jobs.storage.root.store import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

    from spark_jobs.files.noted import Noted
    from spark_jobs.spec import Files

TASKS: Final = 16
"""The most tasks of one read: each may bring bytes of bad records to the driver."""
LEAST: Final = 20_000
"""Records of a task, unless there are fewer."""


class Asked(NamedTuple):
    """Whose records, and which."""

    declared: Files
    root: str
    note: str
    """Where the list is."""
    ranges: tuple[tuple[int, int], ...]
    """Of a batch query; of a stream where it begins at first, and where it ends."""
    most: int | None = None
    """Records of a micro-batch."""

    @property
    def text(self) -> str:
        """As an option of Spark's."""
        return b64encode(pickle.dumps(self)).decode()

    @classmethod
    def of(cls, text: str) -> Self:
        """The way back: this process's own bytes."""
        made: Self = pickle.loads(b64decode(text))
        return made

    def listed(self) -> Listed:
        """The list as it is now. Raises CheckpointBroken."""
        return read_listed(opened(self.note)) or Listed(id="")


class Piece(NamedTuple):
    """Some records of one file."""

    noted: Noted
    first: int
    """The number of the first."""
    stop: int
    """The number behind the last."""

    @property
    def at(self) -> At:
        """From where on it is read."""
        marks, before, stop = self.noted.marks, self.first - self.noted.first, self.noted.stop
        return At(marks[before // STEP], before % STEP, stop) if marks else At(0, before, stop)


class Record(NamedTuple):
    """One record."""

    number: int
    changed: int
    """The file's last change, in milliseconds since 1970."""
    name: str
    """The file's."""
    value: bytes


def pieces(listed: Listed, first: int, stop: int) -> list[Piece]:
    """Those that have the records from `first` up to `stop`, exclusive; without lost ones."""
    return [
        Piece(each, max(first, each.first), min(stop, each.behind))
        for each in listed.within(first, stop)
        if not each.lost
    ]


def tasks(given: list[Piece]) -> list[list[Piece]]:
    """The same, in at most TASKS of about as many records each."""
    whole = sum(each.stop - each.first for each in given)
    share = max(LEAST, -(-whole // TASKS))
    found, left = list[list[Piece]](), 0
    for each in given:
        at = each.first
        while at < each.stop:
            if left == 0:
                found.append([])
                left = share
            stop = min(each.stop, at + left)
            found[-1].append(each._replace(first=at, stop=stop))
            left, at = left - (stop - at), stop
    return found


def read(folder: UPath, declared: Files, listed: Listed, given: list[Piece]) -> Iterator[Record]:
    """In order. Raises FilesUnfit if a file has gone, or has another content than was noted: before
    it is read, and if it changes meanwhile behind it.
    """
    layout = layout_of(declared)
    for piece in given:
        noted = piece.noted
        refuse_changed(folder, listed, noted)
        with file_at(folder, noted.name) as file:
            values = layout.read(file, noted.name, piece.at)
            number = piece.first
            for value in islice(values, piece.stop - piece.first):
                yield Record(number, noted.changed, noted.name, value)
                number += 1
        refuse_changed(folder, listed, noted)


def place(folder: UPath, declared: Files, noted: Noted, number: int) -> str:
    """Where a record is, for a reader: `2026/orders.jsonl line 17`."""
    at = Piece(noted, number, number + 1).at
    with file_at(folder, noted.name) as file:
        told = layout_of(declared).place(file, noted.name, at)
    return f"{noted.name} {told}"
