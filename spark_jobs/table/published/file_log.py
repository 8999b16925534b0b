"""File log: the files of a Delta table that another writes, by its log (table/data_files.py)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from spark_jobs.errors import UpstreamUnfit
from spark_jobs.table.data_files import Change, DataFile, Moved
from spark_jobs.table.delta.delta_log import TRUNCATED, Action, Log, changes_data, file_key
from spark_jobs.table.published.table import newest_shown

if TYPE_CHECKING:
    from upath import UPath

NEVER: Final = datetime.max.replace(tzinfo=UTC)
"""No time is later."""


class FileLog:
    """See DataFiles."""

    def __init__(self, name: str, folder: UPath) -> None:
        self._name = name
        self._log = Log.of(folder)
        self.newest = self._log.newest
        self._commit = lru_cache(1)(self._log.commit)
        """`change` and `added` of one version come one after the other."""

    def own_id(self) -> str:
        metadata = self._log.replay(self.newest).metadata
        return str(metadata["id"]) if metadata else ""

    def shown_id(self) -> str:
        shown = newest_shown(self._log)
        return shown.table_id if shown else self.own_id()

    def has(self, since: int, until: int) -> bool:
        return self._log.has(since, until)

    def live(self, version: int, event_time: str) -> Iterator[DataFile]:
        replay = self._log.replay(version)
        metadata = replay.metadata or {}
        if metadata.get("configuration", {}).get("delta.columnMapping.mode", "none") != "none":
            raise UpstreamUnfit.feature(name=self._name, feature="column mapping")
        return (self._file(action, event_time) for action in replay.added.values())

    def change(self, version: int) -> Change:
        actions = self._commit(version)
        info: Action = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
        return Change(
            at_ms=int(info.get("timestamp") or 0),
            restores=info.get("operation") == "RESTORE",
            added=tuple(map(_moved, _files(actions, "add"))),
            removed=tuple(map(_moved, _files(actions, "remove"))),
        )

    def added(self, version: int, event_time: str) -> Iterator[DataFile]:
        new = filter(changes_data, _files(self._commit(version), "add"))
        return (self._file(action, event_time) for action in new)

    def _file(self, action: Action, event_time: str) -> DataFile:
        stats = json.loads(action.get("stats") or "{}")
        rows = stats.get("numRecords")
        if action.get("deletionVector"):
            raise UpstreamUnfit.feature(name=self._name, feature="deletion vectors")
        if type(rows) is not int:
            raise UpstreamUnfit.uncounted(name=self._name, file=action["path"])
        first, last = (_time(stats.get(of), event_time) for of in ("minValues", "maxValues"))
        parts = action.get("partitionValues") or {}
        last = last + min(TRUNCATED, NEVER - last) if last else None
        return DataFile(action["path"], rows, parts, first, last)


def _files(actions: Iterable[Action], kind: str) -> Iterator[Action]:
    return (each[kind] for each in actions if kind in each)


def _moved(file: Action) -> Moved:
    return Moved(file["path"], file_key(file), changes_data(file))


def _time(values: object, column: str) -> datetime | None:
    given = values.get(column) if isinstance(values, dict) else None
    try:
        found = datetime.fromisoformat(str(given))
    except ValueError:
        return None
    return found if found.tzinfo else None
