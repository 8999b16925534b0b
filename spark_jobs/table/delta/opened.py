"""Opened: a version of a table by delta-rs, and a commit to that very version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.table.delta import door, rewrite
from spark_jobs.table.delta.answer import torn_named
from spark_jobs.table.delta.live_rows import size
from spark_jobs.table.port import Merge, Opened, Overtaken, Said, Size, Unwritten
from spark_jobs.values.own_columns import DELETED, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyarrow.dataset import Scanner
    from upath import UPath


class DeltaOpened(Opened):
    """See Opened."""

    def __init__(self, path: UPath) -> None:
        self._path, self._table = path, door.open_table(path)
        self.version = self._table.version()

    def number(self, by: str) -> int | None:
        """See Opened."""
        return self._table.transaction_version(by)

    def size(self) -> Size | None:
        """See Opened."""
        return size(self._table, self._path)

    def untried(self) -> Sequence[str]:
        """See Opened."""
        return door.untried(self._table)

    def scan(self, columns: Iterable[str]) -> Scanner:
        """See Opened."""
        return door.dataset(self._table).scanner(columns=[*columns])

    def overwrite(self, rows: pa.Table, where: str, said: Said) -> None:
        """See Opened."""
        rewrite.overwrite(self._table, rows, where, commit_properties=_properties(said))

    def merge(self, merge: Merge, said: Said) -> None:
        """See Opened."""
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
