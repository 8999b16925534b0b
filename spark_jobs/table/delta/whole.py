"""Whole: which versions of a table can still be read, told of many at once; and which file is not
what the table's log says of it, once a reader has failed.

delta-rs and Arrow throw what they met, in words of their own, and some of these name no file. So
the files are looked at, first those that the words name.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from spark_jobs.errors import TableChanged
from spark_jobs.storage.root.path_forms import from_uri
from spark_jobs.table.arrow_rows import parquet_file
from spark_jobs.table.delta import door
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.rewrite import place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import deltalake
    from upath import UPath


def whole(path: UPath, versions: Collection[int]) -> frozenset[int]:
    """As door.version_is_whole tells of each: from the newest one back, each commit takes away the
    files that it added, and gives back those that it removed.
    """
    table, log = door.open_table(path), Log.of(path)
    present = door.files_there(path, table)
    gone = {uri.rpartition("/")[2] for uri in table.file_uris()} - present
    oldest, found = _oldest(log), set[int]()
    for version in range(table.version(), min(versions, default=0) - 1, -1):
        if version < oldest:
            break
        if version in versions and not gone:
            found.add(version)
        if version not in log.commits:
            break
        actions = log.commit(version)
        gone -= {_name(action["add"]["path"]) for action in actions if "add" in action}
        back = {_name(action["remove"]["path"]) for action in actions if "remove" in action}
        gone |= back - present
    return frozenset(found)


def _oldest(log: Log) -> int:
    """The oldest version that the log has whole: from a checkpoint on, or from the beginning."""
    since = log.newest
    while since - 1 in log.commits:
        since -= 1
    if since == 0:
        return 0
    return min((each for each in log.checkpoints if each >= since - 1), default=log.newest)


def _name(path: str) -> str:
    return unquote(path).rpartition("/")[2]


LOG = logging.getLogger(__name__)
OF_A_FILE: Final = re.compile(
    "parquet|corrupt|thrift|object at location|requested range", re.IGNORECASE
)
"""What the error of a reader says that has met such a file."""
MOST_READ: Final = 4_000_000_000
"""Bytes of the files that are read for it, where it names none."""


def refuse_torn(tables: Iterable[deltalake.DeltaTable], error: Exception) -> None:
    """Raise TableChanged for a file of the tables that is gone, that has another size than the log
    says, or that is none of Parquet's. Returns where the error is of another kind, or none is.
    """
    said = str(error)
    if not OF_A_FILE.search(said):
        return
    for table in tables:
        try:
            _look(table, said)
        except TableChanged as torn:
            raise torn from error
        except Exception as other:  # noqa: BLE001 - whatever a store throws: what the reader met is told
            LOG.debug("%s: its files are not looked at: %s", table.table_uri, other)


def _look(table: deltalake.DeltaTable, said: str) -> None:
    entries = table.get_add_actions()
    pairs = zip(*(entries.column(of).to_pylist() for of in ("path", "size_bytes")), strict=True)
    files = [(place(table, path), size) for path, size in pairs]
    named = [each for each in files if each[0].name in said]
    for file, size in (*named, *files):
        _refuse_size(table, file, size)
    few = sum(size for _, size in files) <= MOST_READ
    for file, _ in named or (files if few else ()):
        with parquet_file(file) as content:
            for _ in content.iter_batches():
                pass


def _refuse_size(table: deltalake.DeltaTable, file: UPath, size: int) -> None:
    try:
        has = file.stat().st_size
    except FileNotFoundError:
        raise TableChanged.file_gone(
            file=file, table=from_uri(table.table_uri), version=table.version()
        ) from None
    if has != size:
        raise TableChanged.file_resized(
            file=file, has=has, table=from_uri(table.table_uri), size=size
        )
