"""Delta log: a table's own files and entries, read and added to as Delta's protocol has them.

delta-rs gives no statistics as they were written, no deletion vectors and no way to change a
table's files and columns in one commit. The published table (table/published/table.py) needs these.
Log files are read without delta-rs: while a store does not answer, other threads go on. Source:
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import obstore

from spark_jobs.storage.object_store import client, put_new
from spark_jobs.storage.root.path_forms import delta_path, disk_path
from spark_jobs.storage.root.store import is_remote
from spark_jobs.table.arrow_rows import parquet_file
from spark_jobs.table.entry import LOG

if TYPE_CHECKING:
    from pathlib import Path

    from upath import UPath

    from spark_jobs.values.spans import Span

Action = dict[str, Any]
"""An entry of the log: one kind of action (add, remove, metaData, ...) and its content."""
COMMIT = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10}))?\.parquet")


class Log(NamedTuple):
    """The entries of a log: its commits, and its complete checkpoints with their parts."""

    folder: UPath
    commits: frozenset[int]
    checkpoints: dict[int, tuple[UPath, ...]]

    @classmethod
    def of(cls, table: UPath) -> Log:
        """The entries now; none if there is no table."""
        folder = table / LOG
        names = [path.name for path in folder.iterdir()] if folder.exists() else []
        parts: dict[int, list[re.Match[str]]] = {}
        for match in filter(None, map(CHECKPOINT.fullmatch, names)):
            parts.setdefault(int(match[1]), []).append(match)
        complete = {
            version: tuple(folder / match[0] for match in sorted(found, key=lambda each: each[0]))
            for version, found in parts.items()
            if len(found) == int(found[0][2] or 1)
        }
        commits = (int(match[1]) for match in filter(None, map(COMMIT.fullmatch, names)))
        return cls(folder, frozenset(commits), complete)

    @property
    def newest(self) -> int:
        """The table's version; -1 without a table."""
        return max(self.commits | self.checkpoints.keys(), default=-1)

    def has(self, since: int, version: int) -> bool:
        """Whether every commit after `since`, up to `version`, is there."""
        return all(each in self.commits for each in range(since + 1, version + 1))

    def commit(self, version: int) -> list[Action]:
        """The actions of a commit."""
        text = (self.folder / f"{version:020d}.json").read_text()
        return [json.loads(line) for line in text.splitlines() if line]

    def replay(self, version: int, since: int | None = None) -> Replay:
        """What the commits after `since` have done up to `version`; the whole table without
        `since`.

        Raises LookupError if entries that this needs are gone.
        """
        start = -1 if since is None else since
        made = Replay()
        if since is None and not self.has(start, version):
            start = max((each for each in self.checkpoints if each <= version), default=-1)
            for path in self.checkpoints.get(start, ()):
                made.take(_checkpoint_actions(path))
        if not self.has(start, version):
            raise LookupError(f"{self.folder} has no longer every entry up to version {version}")
        for each in range(start + 1, version + 1):
            made.take(self.commit(each))
        return made

    def put(self, version: int, actions: list[Action]) -> bool:
        """Add a commit; False if another writer has added that version."""
        text = "\n".join(json.dumps(action, separators=(",", ":")) for action in actions) + "\n"
        return put_new(self.folder / f"{version:020d}.json", text)


class Replay:
    """The sum of some commits: the files that they leave added and removed, and the table's last
    metadata and protocol, if one of them has it.

    A file is known by its path and its deletion vector.
    """

    def __init__(self) -> None:
        self.added: dict[str, Action] = {}
        self.removed: dict[str, Action] = {}
        self.metadata: Action | None = None
        self.protocol: Action | None = None
        self.rewritten = False
        """Whether a file was added and removed, once as new data and once as a rearrangement
        (OPTIMIZE): the sum then cannot tell new rows from rearranged ones.
        """

    def take(self, actions: Iterator[Action] | list[Action]) -> None:
        """Add the actions of one commit, or of a checkpoint.

        Within a commit the order means nothing, so a file that is removed and added with another
        deletion vector is two.
        """
        for action in actions:
            if "add" in action:
                self._add(action["add"])
            elif "remove" in action:
                self._remove(action["remove"])
            elif "metaData" in action:
                self.metadata = action["metaData"]
            elif "protocol" in action:
                self.protocol = action["protocol"]

    def _add(self, file: Action) -> None:
        if self.removed.pop(file_key(file), None) is None:
            mine = self.added.get(file_key(file))  # added again with more statistics, by ANALYZE
            new = mine is not None and changes_data(mine)
            self.added[file_key(file)] = file | {"dataChange": True} if new else file

    def _remove(self, file: Action) -> None:
        mine = self.added.pop(file_key(file), None)
        if mine is None:
            self.removed[file_key(file)] = file
        elif changes_data(mine) != changes_data(file):
            self.rewritten = True


def changes_data(file: Action) -> bool:
    """Whether an add or a remove changes the rows, and not only the files that they are in."""
    return bool(file.get("dataChange", True))


def file_key(file: Action) -> str:
    """What tells one file of a table from another."""
    vector = file.get("deletionVector")
    if not vector:
        return str(file["path"])
    return (
        f"{file['path']} {vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"
    )


def only_rearranges(actions: list[Action]) -> bool:
    """Whether a commit leaves the rows and the columns as they are: OPTIMIZE, ANALYZE."""
    files = [action[kind] for action in actions for kind in ("add", "remove") if kind in action]
    kinds = {kind for action in actions for kind in action}
    return not kinds & {"metaData", "protocol"} and not any(map(changes_data, files))


TRUNCATED = timedelta(milliseconds=1)
"""Spark writes the largest time of a file without its microseconds."""


def may_hold(file: Action, column: str, spans: Iterable[Span]) -> bool:
    """Whether a row of an added file may have a time of this column in one of the spans, by the
    log's statistics.
    """
    stats = json.loads(file.get("stats") or "{}")
    try:
        first, last = (
            datetime.fromisoformat(stats[of][column]) for of in ("minValues", "maxValues")
        )
        return any(first <= span.end and last >= span.start - TRUNCATED for span in spans)
    except (KeyError, TypeError, ValueError):
        return bool(stats.get("numRecords") != 0)


def _checkpoint_actions(path: UPath) -> Iterator[Action]:
    """The actions of one file of a checkpoint: each row has one of them, the others are null."""
    with parquet_file(path) as file:
        read = file.read()
    if "sidecar" in read.column_names and read["sidecar"].null_count < read.num_rows:
        raise LookupError(f"{path} is a checkpoint of Delta's second form")
    for row in read.select(["add", "metaData", "protocol"]).to_pylist(maps_as_pydicts="strict"):
        yield {kind: _as_written(content) for kind, content in row.items() if content}


def _as_written(content: Action) -> Action:
    """Without nulls, and without what only checkpoints have."""
    return {
        name: value
        for name, value in content.items()
        if value is not None and not name.endswith("_parsed")
    }


PAGE = 100
"""Names that are handed over at a time; the store sends a thousand."""


class LogFiles:
    """The log files of one table, on a disk or in an object store.

    Raises the errors of obstore, and RootRefused without credentials.
    """

    def __init__(self, table: UPath | str) -> None:
        folder = f"{str(table).rstrip('/')}/{LOG}"
        self._store = client(delta_path(folder)) if is_remote(folder) else None
        self._folder = disk_path(folder)

    def names(self) -> Iterator[str]:
        """Their names, in no order; none without a table."""
        if self._store is None:
            yield from _listed(self._folder)
            return
        for page in obstore.list(self._store, chunk_size=PAGE):
            yield from (each["path"] for each in page)

    def content(self, name: str) -> bytes | None:
        """What the file of that name has; None if it is gone."""
        try:
            if self._store is None:
                return (self._folder / name).read_bytes()
            return bytes(obstore.get(self._store, name).bytes())
        except FileNotFoundError:
            return None


def _listed(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            yield from (each.name for each in found)
    except (FileNotFoundError, NotADirectoryError):
        return
