"""Opened: a version of a table by delta-rs, a commit to that very version; and how many rows and
deletes one has that follows a key.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.storage.root.path_forms import unprefixed
from spark_jobs.storage.root.store import opened
from spark_jobs.table.delta import door, rewrite
from spark_jobs.table.delta.answer import streamed, torn_named
from spark_jobs.table.delta.delta_log import Action, Log
from spark_jobs.table.delta.door import untried
from spark_jobs.table.open_version import Merge, Opened, Overtaken, Said, Size, Unread, Unwritten
from spark_jobs.values.own_columns import DELETED, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyarrow.dataset import Scanner
    from upath import UPath


ABOVE: Final = "%2E%2E/"
IN_ORDER: Final = {"datafusion.execution.target_partitions": "1"}


class DeltaOpened(Opened):
    """See Opened."""

    def __init__(self, path: UPath, version: int | None = None) -> None:
        with _unread() if version is not None else nullcontext():
            self._path, self._table = path, door.open_table(path, version)
        self.version = self._table.version()

    def identifier(self) -> str:
        return str(self._table.metadata().id)

    def is_whole(self) -> bool:
        files = self._table.file_uris()
        return all(_file(self._path, self._table.table_uri, uri).exists() for uri in files)

    def columns(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    def ask(self, sql: str) -> pa.RecordBatchReader:
        """See Opened. While delta-rs writes what the answer gives, no table can be opened: it would
        wait for the thread that writes.
        """
        return streamed(sql, {"t": self._table}, IN_ORDER)

    def read(self, columns: Iterable[str], where: str, most: int) -> pa.Table | None:
        named = ", ".join(f'"{name.replace(chr(34), 2 * chr(34))}"' for name in columns)
        batches, left = list[pa.RecordBatch](), most
        with _unread():
            found = self.ask(f"SELECT {named} FROM t WHERE {where}")
            for batch in found:
                left -= batch.nbytes
                if left < 0:
                    return None
                batches.append(batch)
        return pa.Table.from_batches(batches, found.schema)

    def number(self, by: str) -> int | None:
        return self._table.transaction_version(by)

    def size(self) -> Size | None:
        return size(self._table, self._path)

    def untried(self) -> Sequence[str]:
        return door.untried(self._table)

    def scan(self, columns: Iterable[str]) -> Scanner:
        return door.dataset(self._table).scanner(columns=[*columns])

    def overwrite(self, rows: pa.Table, where: str, said: Said) -> None:
        rewrite.overwrite(self._table, rows, where, commit_properties=_properties(said))

    def merge(self, merge: Merge, said: Said) -> None:
        rows, table, of = merge.rows, self._table, _properties(said)
        if not rows.num_rows:  # a merge of nothing commits nothing
            parts = table.metadata().partition_columns
            table.create_write_transaction(
                [], "append", table.schema(), parts, commit_properties=of
            )
            return
        same = " AND ".join(f'old."{name}" = new."{name}"' for name in merge.key)
        if merge.newest:
            same += f' AND (old."{merge.newest}" OR old."{DELETED}")'
        merger = table.merge(
            rows, same, source_alias="new", target_alias="old", commit_properties=of
        )
        if rows[WHOLE].null_count:
            merger = merger.when_matched_delete(f'new."{WHOLE}" IS NULL')
        every = [name for name in rows.column_names if name != WHOLE]
        anew, all_ = (
            {f'"{name}"': f'new."{name}"' for name in names} for names in (merge.anew, every)
        )
        merger = merger.when_matched_update(anew, f'NOT new."{WHOLE}"')
        merger = merger.when_matched_update(all_, f'new."{WHOLE}"')
        merger.when_not_matched_insert(all_, f'new."{WHOLE}"').execute()


def _file(folder: UPath, table_uri: str, uri: str) -> UPath:
    """delta-rs escapes the folder's name, and not what is behind it; but all of a name that leads
    upwards, as a published table's does where there are no links.
    """
    begins, name = unprefixed(table_uri).rstrip("/") + "/", unprefixed(uri)
    if not name.startswith(begins):
        return opened(name)
    name = name.removeprefix(begins)
    if name.startswith(ABOVE):
        name = unquote(name)
    while name.startswith("../"):
        folder, name = folder.parent, name.removeprefix("../")
    return folder / name


@contextmanager
def _unread() -> Iterator[None]:
    try:
        yield
    except (DeltaError, pa.ArrowException) as error:
        raise Unread(str(error).partition("\n")[0]) from None


def _properties(said: Said) -> deltalake.CommitProperties:
    return deltalake.CommitProperties(
        custom_metadata={"userMetadata": json.dumps(said.note)},
        max_commit_retries=0,
        app_transactions=[deltalake.Transaction(said.by, said.number)],
    )


def at_newest(path: UPath, work: Callable[[Opened], None]) -> None:
    """See Table."""
    try:
        with torn_named(lambda: [door.open_table(path)]):
            _tried(path, work)
    except CommitFailedError as error:
        raise Overtaken(str(error)) from error
    except DeltaError as error:
        raise Unwritten(str(error)) from error


@door.patiently
def _tried(path: UPath, work: Callable[[Opened], None]) -> None:
    work(DeltaOpened(path))


PHYSICAL: Final = "delta.columnMapping.physicalName"
"""In a column's metadata: its name in the log, where columns are mapped."""


def size(table: deltalake.DeltaTable, path: UPath) -> Size | None:
    """Of the version that is open; None if the log does not tell of each file."""
    if untried(table):
        return _by_entries(path, table.version())
    files = pa.table(table.get_add_actions(flatten=True))
    if files.num_rows == 0:
        return Size(0, 0)
    counts = files["num_records"]
    if counts.null_count:
        return None
    dead = files[f"partition.{DELETED}"]
    remembered = pc.sum(counts.filter(dead)).as_py() or 0
    stored = pc.sum(files["size_bytes"]).as_py()
    return Size(pc.sum(counts).as_py() - remembered, remembered, stored)


def _by_entries(path: UPath, version: int) -> Size | None:
    """Likewise by the log itself: delta-rs tells of no deletion vector how many rows it hides, and
    nothing by the names of columns that are mapped.
    """
    try:
        found = Log.of(path).replay(version)
    except LookupError:
        return None
    deleted = _name_in_log(found.metadata or {})
    live = remembered = stored = 0
    for file in found.added.values():
        counted = json.loads(file.get("stats") or "{}").get("numRecords")
        if counted is None:
            return None
        rows = counted - (file.get("deletionVector") or {}).get("cardinality", 0)
        stored += file["size"]
        if file["partitionValues"].get(deleted) == "true":
            remembered += rows
        else:
            live += rows
    return Size(live, remembered, stored)


def _name_in_log(metadata: Action) -> str:
    """Of the column DELETED: where columns are mapped, it has another one."""
    fields = json.loads(metadata.get("schemaString", '{"fields": []}'))["fields"]
    names = {field["name"]: field.get("metadata", {}).get(PHYSICAL) for field in fields}
    return names.get(DELETED) or DELETED
