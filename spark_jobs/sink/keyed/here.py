"""Here: a merge by delta-rs in the driver, into the very version that it was computed from."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import deltalake
import pyarrow as pa
from deltalake.exceptions import CommitFailedError

from spark_jobs.errors import TableContended
from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.table.delta import door

if TYPE_CHECKING:
    from deltalake.table import TableMerger

    from spark_jobs.table.delta.commit import Commit


class Merge(NamedTuple):
    """What a version of the table must get."""

    rows: pa.Table
    fates: Fates
    same: str
    """SQL: whether a row of the table, `old`, and one of these, `new`, are at one place."""
    clauses: Callable[[TableMerger], TableMerger]


def merged_here(commit: Commit, merge: Callable[[deltalake.DeltaTable], Merge]) -> None:
    """Make the merge, and commit it. It is made anew where another writer was faster, such as
    OPTIMIZE.
    """
    try:
        _merged_here(commit, merge)
    except CommitFailedError as error:
        raise TableContended.written_meanwhile(
            path=commit.path, conflict=type(error).__name__, error=str(error)[:300]
        ) from None


@door.patiently
def _merged_here(commit: Commit, merge: Callable[[deltalake.DeltaTable], Merge]) -> None:
    table = door.open_table(commit.table)
    done = table.transaction_version(commit.owner)
    if done is not None and done >= commit.batch_id:
        return  # by a commit whose answer was lost
    # Behind the read: what a later holder commits is then behind it, and refuses this one.
    commit.confirm()
    found = merge(table)
    note = {**commit.note, "fates": found.fates._asdict()}
    said = deltalake.CommitProperties(
        custom_metadata={"userMetadata": json.dumps(note)},
        max_commit_retries=0,
        app_transactions=[deltalake.Transaction(commit.owner, commit.batch_id)],
    )
    if not found.rows.num_rows:  # a merge of nothing commits nothing
        parts = table.metadata().partition_columns
        table.create_write_transaction([], "append", table.schema(), parts, commit_properties=said)
        return
    merger = table.merge(
        found.rows,
        found.same,
        source_alias="new",
        target_alias="old",
        commit_properties=said,
    )
    found.clauses(merger).execute()
