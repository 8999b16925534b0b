"""Follow: how a table that follows a key gets a batch of changes: by delta-rs in the driver; or in
Spark, where the driver should not hold batch or table. Both write what `merged` makes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.sink.keyed.driver import held, load, takes_changes, takes_table
from spark_jobs.sink.keyed.here import merge_here
from spark_jobs.sink.keyed.in_spark import merge_in_spark
from spark_jobs.sink.keyed.standing import size
from spark_jobs.table.delta import door

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.spec.steps.following import Following
    from spark_jobs.table.delta.commit import Commit


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
