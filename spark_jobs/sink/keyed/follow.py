"""Follow: how a table that follows a key gets a batch of changes: by delta-rs in the driver; or in
Spark, where the driver should not hold batch or table. Both write what `merged` makes of them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import deltalake
import pyarrow as pa
from deltalake.exceptions import CommitFailedError

from spark_jobs.errors import TableContended
from spark_jobs.sink.keyed.delta_rs import put, rows_of
from spark_jobs.sink.keyed.driver import held, load, takes_changes, takes_table
from spark_jobs.sink.keyed.in_spark import merge_in_spark
from spark_jobs.sink.keyed.standing import key_broken, size
from spark_jobs.steps.keyed.merge import merged
from spark_jobs.steps.keyed.places import known_of, misplaced
from spark_jobs.table.delta import door

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.spec.steps.following import Following
    from spark_jobs.table.delta.commit import Commit


def merge_here(changes: pa.Table, step: Following, commit: Commit) -> None:
    """Merge the changes into the very version that they were held against, in one commit that tells
    their fates. All is made anew where another writer was faster, such as OPTIMIZE. Raises
    TableChanged if somebody has broken a key of theirs.
    """
    try:
        _merge_here(changes, step, commit)
    except CommitFailedError as error:
        raise TableContended.written_meanwhile(
            path=commit.path, conflict=type(error).__name__, error=str(error)[:300]
        ) from None


@door.patiently
def _merge_here(changes: pa.Table, step: Following, commit: Commit) -> None:
    table = door.open_table(commit.table)
    done = table.transaction_version(commit.owner)
    if done is not None and done >= commit.batch_id:
        return  # by a commit whose answer was lost
    # Behind the read: what a later holder commits is then behind it, and refuses this one.
    commit.confirm()
    columns = [name for name in changes.column_names if name not in step.spans]
    changes = changes.select(columns)
    known = rows_of(table, changes, step, known_of(step, columns))
    if (broken := misplaced(known, step)) is not None:
        raise key_broken(str(commit.table), broken)
    made = merged(known, changes, step)
    note = {**commit.note, "fates": made.fates._asdict()}
    said = deltalake.CommitProperties(
        custom_metadata={"userMetadata": json.dumps(note)},
        max_commit_retries=0,
        app_transactions=[deltalake.Transaction(commit.owner, commit.batch_id)],
    )
    put(made.rows, step, table, said, newest_only=made.newest_only)


def follow(rows: DataFrame, step: Following, commit: Commit) -> None:
    """Give the table what the batch says, in one commit that tells the fates of its changes."""
    table = door.open_table(commit.table)
    small = takes_table(table, size(table, commit.table))
    with held(rows.drop(*step.spans)) as changes:
        of = load(changes)
        if small and takes_changes(of):
            merge_here(changes.toArrow(), step, commit)
        else:
            merge_in_spark(changes, of, step, commit)
