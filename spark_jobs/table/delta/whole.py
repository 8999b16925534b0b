"""Whole: which versions of a table can still be read, told of many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from spark_jobs.table.delta import door
from spark_jobs.table.delta.delta_log import Log

if TYPE_CHECKING:
    from collections.abc import Collection

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
