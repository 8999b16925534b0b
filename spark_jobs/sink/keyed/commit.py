"""Commit of a batch of changes: into an empty table by an append; by delta-rs in the driver; or in
Spark (in_spark.py), where the driver should not hold batch or table.

All three write the same. A change is written if its position is above that of what the table has
of its key: so a batch that is merged twice changes nothing, besides the transaction id that every
batch has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from spark_jobs.sink.keyed.driver import held, takes_changes, takes_table
from spark_jobs.sink.keyed.fates import BEFORE, compared, copies, fates, wins
from spark_jobs.sink.keyed.here import Merge, merged_here
from spark_jobs.sink.keyed.in_spark import noted, replace_in_spark, told_of
from spark_jobs.sink.keyed.newest import COUNTED, newest
from spark_jobs.sink.keyed.standing import beside, size
from spark_jobs.table.delta import door
from spark_jobs.table.delta.commit import Commit, append
from spark_jobs.values.own_columns import PLACE, WHOLE

if TYPE_CHECKING:
    import deltalake
    from deltalake.table import TableMerger
    from pyspark.sql import DataFrame

    from spark_jobs.spec import Latest


def follow(rows: DataFrame, step: Latest, commit: Commit) -> None:
    """Give the table what the batch says, in one commit that tells the fates of its changes."""
    table = door.open_table(commit.table)
    found = size(table, commit.table)
    with held(newest(rows, step)) as changes:
        if found is not None and not found.all:
            _fill(changes, step, commit)
        elif takes_table(table, found) and takes_changes(changes):
            merge_here(changes.toArrow(), step, commit)
        else:
            replace_in_spark(changes, step, commit)


def _fill(changes: DataFrame, step: Latest, commit: Commit) -> None:
    nothing = (
        F.lit(None).cast(changes.schema[name].dataType).alias(BEFORE + name)
        for name in compared(step.order_by)
    )
    told = told_of(changes.select("*", *nothing), step)
    append(changes.drop(*COUNTED), commit._replace(note=noted(commit, told)))


def merge_here(changes: pa.Table, step: Latest, commit: Commit) -> None:
    """Merge the newest changes by delta-rs, into the very version that they were compared with. A
    copy writes its place alone.
    """

    def merge(table: deltalake.DeltaTable) -> Merge:
        held = beside(changes, table, step)
        whole = pc.invert(copies(held, step.order_by))
        written = changes.drop_columns([*COUNTED])
        all_ = {f'"{name}"': f'new."{name}"' for name in written.column_names}
        place = {f'"{name}"': f'new."{name}"' for name in PLACE}
        written = written.append_column(WHOLE, whole).filter(wins(held, step.order_by))

        def clauses(merger: TableMerger) -> TableMerger:
            merger = merger.when_matched_update(place, f'NOT new."{WHOLE}"')
            merger = merger.when_matched_update(all_, f'new."{WHOLE}"')
            return merger.when_not_matched_insert(all_)

        return Merge(written, fates(held, step.order_by), same(step, '"'), clauses)

    merged_here(commit, merge)


def same(step: Latest, quote: str) -> str:
    """SQL: whether a row of the table, `old`, and a change, `new`, have the same key."""
    names = (f"{quote}{name}{quote}" for name in step.keys)
    return " AND ".join(f"old.{name} = new.{name}" for name in names)
