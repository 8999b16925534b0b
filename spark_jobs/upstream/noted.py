"""Noted: the numbers of a table's rows, in rows.json of the place.

Delta forgets its log; a number stays. Partition 0 has the rows that drains read, in the order of
commits: a row's offset is its file's first number and its place in the file. Partition 1 has the
files that no drain reads: their rows took the place of others, or were moved there. Repairs read
the files of both that a version has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict

from spark_jobs.storage.stored import Stored
from spark_jobs.upstream.table_log import Appended, in_order, live_files, moves

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.source.positions import Offset, Parts
    from spark_jobs.table.data_files import DataFile, DataFiles

DRAINED, REPAIRED = 0, 1
"""The partitions."""
KEPT = timedelta(days=30)
"""How long a file is known that the table has no more: a batch that is read again may need it."""


class Numbered(BaseModel):
    """A file with numbers."""

    model_config = ConfigDict(frozen=True)

    path: str
    partition: int
    first: int
    rows: int
    version: int
    """The version with which it came, as the runs have noted it."""
    at_ms: int
    """When its rows were committed, in milliseconds since the epoch."""
    parts: dict[str, str | None] = {}
    earliest: datetime | None = None
    latest: datetime | None = None
    cut: bool = True
    """Whether a batch may end behind it."""
    gone: int | None = None
    """The first noted version without it."""
    gone_at: datetime | None = None

    @property
    def stop(self) -> int:
        return self.first + self.rows

    def at(self, version: int) -> bool:
        """Whether the version has it."""
        return self.version <= version and (self.gone is None or self.gone > version)


class Noted(Stored):
    """The content of rows.json."""

    table_id: str
    """Of what its rows are (table_log.py)."""
    version: int
    """The newest that is noted."""
    ends: tuple[int, int] = (0, 0)
    """The next number of each partition. That of the second never falls."""
    files: tuple[Numbered, ...] = ()

    @property
    def end(self) -> int:
        """Behind the last row that drains read."""
        return self.ends[DRAINED]

    def among(self, version: int) -> Noted:
        """The same for a table that was made anew, and counts its versions from 0 again."""
        if version >= self.version:
            return self
        made = [
            file.model_copy(
                update={
                    "version": min(file.version, version),
                    "gone": file.gone and min(file.gone, version),
                }
            )
            for file in self.files
        ]
        return self.model_copy(update={"version": version, "files": tuple(made)})

    def missing(self, start: int, there: Callable[[Numbered], bool]) -> int:
        """Behind the last row from `start` on that drains would read, and cannot: its file is not
        there, or forgotten. 0 if there is none.
        """
        found, at = 0, start
        for file in self.files:
            if file.partition == DRAINED and file.stop > start:
                found = file.first if file.first > at else found
                found = found if file.gone is None or there(file) else file.stop
                at = file.stop
        return self.end if self.end > at else found

    def live(self, version: int) -> Iterator[Numbered]:
        return (file for file in self.files if file.at(version))

    def within(self, parts: Parts) -> Iterator[tuple[Numbered, Offset]]:
        """Each file with numbers among these, and which of its numbers."""
        for file in self.files:
            for first, stop in parts.get(file.partition, ()):
                some = max(first, file.first), min(stop, file.stop)
                if some[0] < some[1]:
                    yield file, some

    def until(self, start: int, end: int, most: int | None) -> int:
        """Where a batch of `most` rows that begins at `start` ends: behind the first file at which
        it may.
        """
        if most is None or end - start <= most:
            return end
        ends = (each.stop for each in self.files if each.partition == DRAINED and each.cut)
        return min((at for at in ends if start + most <= at), default=end)


def read(path: UPath) -> Noted | None:
    """None without one."""
    try:
        return Noted.read(path)
    except FileNotFoundError:
        return None


class Table(NamedTuple):
    """What is read."""

    name: str
    event_time: str
    folder: UPath
    log: DataFiles
    id: str


def begun(of: Table, version: int) -> Noted:
    """The numbers of all rows of a version, for a reader that begins with it."""
    files = live_files(of.log, version, of.event_time).values()
    made = Noted(table_id=of.id, version=version)
    now = int(datetime.now(UTC).timestamp() * 1000)
    appended = [(Appended(version, now, file), cut) for file, cut in in_order(files)]
    return _with(made, appended, (), version)


def followed(known: Noted, since: int, of: Table, version: int) -> Noted:
    """The numbers with what the table has done from `since`, which runs have noted, to `version`.
    What was noted behind `since` is taken back: no batch has read it.
    """
    kept = [_before(file, since) for file in known.files if file.version <= since]
    end = max((file.stop for file in kept if file.partition == DRAINED), default=0)
    base = known.model_copy(update={"files": tuple(kept), "ends": (end, known.ends[REPAIRED])})
    found = moves(of.log, since, version, of.event_time)
    there = {file.path for file in kept if file.gone is None}  # gone and come again meanwhile, too
    new = [each for each in found.appended if each.file.path not in there]
    last = {each.version: n for n, each in enumerate(new)}
    appended = [(each, last[each.version] == n) for n, each in enumerate(new)]
    read = {each.file.path for each in new} | {file.path for file in kept}
    others = [file for path, file in found.live.items() if path not in read]
    return _gone(_with(base, appended, others, version), found.live, version)


def _before(file: Numbered, since: int) -> Numbered:
    back = file.gone is not None and file.gone > since
    return file.model_copy(update={"gone": None, "gone_at": None}) if back else file


def _with(
    known: Noted,
    appended: Iterable[tuple[Appended, bool]],
    others: Iterable[DataFile],
    version: int,
) -> Noted:
    files, ends = [*known.files], [*known.ends]

    def add(file: DataFile, partition: int, at_ms: int, *, cut: bool) -> None:
        files.append(
            Numbered(
                path=file.path, partition=partition, first=ends[partition], rows=file.rows,
                version=version, at_ms=at_ms, parts=dict(file.parts), earliest=file.first,
                latest=file.last, cut=cut,
            )
        )  # fmt: skip
        ends[partition] += file.rows

    for each, cut in appended:
        add(each.file, DRAINED, each.at_ms, cut=cut)
    for file in others:
        add(file, REPAIRED, int(datetime.now(UTC).timestamp() * 1000), cut=False)
    ends_now = (ends[DRAINED], ends[REPAIRED])
    return known.model_copy(update={"files": tuple(files), "ends": ends_now, "version": version})


def _gone(known: Noted, live: Mapping[str, DataFile], version: int) -> Noted:
    now, files = datetime.now(UTC), list[Numbered]()
    newest = {file.path: file for file in known.files}  # one that is drained again has new numbers
    for file in known.files:
        if file.gone_at is not None and now - file.gone_at > KEPT and file.path not in live:
            continue
        here = file.path in live and newest[file.path] is file
        if here != (file.gone is None):  # a RESTORE brings files back
            then = {"gone": None, "gone_at": None} if here else {"gone": version, "gone_at": now}
            file = file.model_copy(update=then)  # noqa: PLW2901 - as it is now
        files.append(file)
    return known.model_copy(update={"files": tuple(files)})
