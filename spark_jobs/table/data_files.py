"""Data files: the port by which a table that another writes is read, file by file.

It tells which files a version has, and what each commit did with them. Times are UTC; versions are
numbers that only grow. Without Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from upath import UPath

KEPT_BY: Final = "spark_jobs.table.published.file_log:FileLog"
"""What reads such tables: all are in one format."""


class DataFile(NamedTuple):
    """A data file of the table."""

    path: str
    """As the table's log has it."""
    rows: int
    parts: Mapping[str, str | None]
    """Partition column -> its value, as the log has it."""
    first: datetime | None
    """No row has an earlier event time; None where the log does not tell."""
    last: datetime | None
    """No row has a later one; likewise."""

    @property
    def told(self) -> bool:
        """Whether its times are known, or it has no row with one."""
        return not self.rows or (self.first is not None and self.last is not None)


class Moved(NamedTuple):
    """A file that a commit added or removed."""

    path: str
    key: str
    """What tells it from the table's other files: one path may be two."""
    changes_rows: bool
    """Whether rows came or went with it, and were not only moved to another file."""


class Change(NamedTuple):
    """What a commit did."""

    at_ms: int
    """When, in milliseconds since the epoch; 0 where it does not say."""
    restores: bool
    """Whether it had the rows of an earlier version again."""
    added: tuple[Moved, ...]
    removed: tuple[Moved, ...]


class DataFiles(Protocol):
    """The log of one table, as it was when it was looked at."""

    newest: int
    """The newest version; -1 without a table."""

    def own_id(self) -> str:
        """The table's own id; empty without one. Raises LookupError if the log no longer has it."""

    def shown_id(self) -> str:
        """The id of the table that it shows, if it is a published one: that stays behind a reset of
        the pipeline. Else its own.
        """

    def has(self, since: int, until: int) -> bool:
        """Whether every commit after `since`, up to `until`, is there."""

    def live(self, version: int, event_time: str) -> Iterator[DataFile]:
        """The files of a version. Raises UpstreamUnfit for a feature by which rows cannot be
        numbered; LookupError if nobody knows the files any more.
        """

    def change(self, version: int) -> Change:
        """What this commit did."""

    def added(self, version: int, event_time: str) -> Iterator[DataFile]:
        """The files with new rows that this commit added. Raises UpstreamUnfit, as `live`."""


def data_files(name: str, folder: UPath) -> DataFiles:
    """The log of the table in this folder. Errors call it `name`."""
    return cast("DataFiles", resolve_name(KEPT_BY)(name, folder))
