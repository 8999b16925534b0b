"""Follow: how a table that follows a key gets a batch of changes: by delta-rs in the driver; or in
Spark, where the driver should not hold batch or table. Both write what `merged` makes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from spark_jobs.errors import TableContended
from spark_jobs.sink.keyed.by_place import put, rows_of
from spark_jobs.sink.keyed.driver import held, load, takes_changes, takes_table
from spark_jobs.sink.keyed.in_spark import key_broken, merge_in_spark
from spark_jobs.steps.keyed.merge import merged
from spark_jobs.steps.keyed.places import known_of, misplaced
from spark_jobs.table.open_version import Opened, Overtaken, Said
from spark_jobs.table.tables import own_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.spec.steps.following import Following
    from spark_jobs.table.entry import Commit


def merge_here(changes: pa.Table, step: Following, commit: Commit) -> None:
    """Merge the changes into the very version that they were held against, in one commit that tells
    their fates. All is made anew where another writer was faster, such as OPTIMIZE. Raises
    TableChanged if somebody has broken a key of theirs.
    """
    columns = [name for name in changes.column_names if name not in step.spans]
    told = changes.select(columns)

    def work(table: Opened) -> None:
        done = table.number(commit.owner)
        if done is not None and done >= commit.batch_id:
            return  # by a commit whose answer was lost
        # Behind the read: what a later holder commits is then behind it, and refuses this one.
        commit.confirm()
        known = rows_of(table, told, step, known_of(step, columns))
        if (broken := misplaced(known, step)) is not None:
            raise key_broken(str(commit.table), broken)
        made = merged(known, told, step)
        note = {**commit.note, "fates": made.fates._asdict()}
        table.merge(
            put(made.rows, step, newest_only=made.newest_only),
            Said(note, commit.owner, commit.batch_id),
        )

    try:
        own_table(commit.table).at_newest(work)
    except Overtaken as error:
        raise TableContended.written_meanwhile(
            path=commit.path, conflict="CommitFailedError", error=str(error)[:300]
        ) from None


def follow(rows: DataFrame, step: Following, commit: Commit) -> None:
    """Give the table what the batch says, in one commit that tells the fates of its changes."""
    small = takes_table(own_table(commit.table).open())
    with held(rows.drop(*step.spans)) as changes:
        of = load(changes)
        if small and takes_changes(of):
            merge_here(changes.toArrow(), step, commit)
        else:
            merge_in_spark(changes, of, step, commit)
