"""Noted: the list of a pipeline's files, and which numbers their records have. It only grows.

`files.json` beside the checkpoint has it. A run writes it under the pipeline's lease before Spark
plans a batch. Whatever reads the records again goes by it, so a number means one record for ever,
until a reset begins another list.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

    from spark_jobs.storage.root.paths import Paths

MILLISECOND: Final = timedelta(milliseconds=1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Noted(BaseModel):
    """A part of a file: all of it, or what has come behind the parts before."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Its path below the folder."""
    start: int = 0
    """Its first byte."""
    stop: int
    """The byte behind its last: the file's size when it was noted."""
    changed: int
    """The file's last change then, in milliseconds since 1970."""
    tag: str = ""
    """What an object store calls the content; empty on a disk."""
    digest: str
    """SHA-256 of the file's bytes up to `stop`."""
    first: int
    """The number of its first record."""
    records: int
    marks: tuple[int, ...] = ()
    """Where in the file each text/STEP-th of its records begins, the first one too."""
    ended: bool = True
    """Whether its last record has the end of a line."""
    inode: int = 0
    """The disk's own number of the file then; 0 if nobody has noted it."""
    copy_of: str = ""
    """The name of the file with the same content up to `start`, or, of one without records, the
    same whole content: its records are read.
    """
    lost: bool = False
    """Whether the file went before its records were accounted for, and the spec allows it."""
    kept: int = 0
    """Of a lost one: how many of its records batches had before, the first ones."""

    @property
    def behind(self) -> int:
        """The number behind its last record."""
        return self.first + self.records

    @property
    def readable(self) -> int:
        """How many of its records are read again by their numbers: the first ones."""
        return self.kept if self.lost else self.records

    @property
    def at(self) -> datetime:
        """The file's last change then: Kafka's timestamp of its records."""
        return EPOCH + self.changed * MILLISECOND


class Listed(Stored):
    """The content of files.json."""

    id: str
    """The list's, which stands for the topic's."""
    files: tuple[Noted, ...] = ()
    """By the numbers of their records."""

    @property
    def end(self) -> int:
        """The number behind the last record."""
        return self.files[-1].behind if self.files else 0

    @property
    def newest(self) -> dict[str, Noted]:
        """Name -> the last part of the file, without those that are lost whole: what comes back is
        read.
        """
        return {each.name: each for each in self.files if not each.lost or each.kept}

    @property
    def begun(self) -> dict[str, Noted]:
        """The same, of the files with records, or with those of another: others change nothing."""
        some = {each.name for each in self.files if each.readable or each.copy_of}
        return {name: each for name, each in self.newest.items() if name in some}

    def within(self, first: int, stop: int) -> Iterator[Noted]:
        """Those with records from the number `first` up to `stop`, exclusive."""
        at = bisect_right(self.files, first, key=lambda each: each.behind)
        for each in self.files[at:]:
            if each.first >= stop:
                return
            if each.records:
                yield each

    def having(self, number: int) -> Noted | None:
        """The one that has this record."""
        return next(self.within(number, number + 1), None)


def note_of(paths: Paths) -> UPath:
    """Where the list is."""
    return paths.version / "files.json"


def read_listed(note: UPath) -> Listed | None:
    """None without one. Raises CheckpointBroken if it does not parse: without it nobody knows which
    records the offsets are.
    """
    try:
        return Listed.read(note)
    except FileNotFoundError:
        return None
    except ValueError:
        raise checkpoint_broken(f"{note} does not parse", note.parent.parent.name) from None
