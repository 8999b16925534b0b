"""Commit of a batch of changes: into an empty table by an append; by delta-rs in the driver; or by
Spark's MERGE, where the driver should not hold batch or table.

All three write the same. A change is written if its position is above that of what the table has
of its key: so a batch that is merged twice changes nothing, besides the transaction id that every
batch has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from spark_jobs.sink.commit import Commit, append, marked
from spark_jobs.sink.contention import again
from spark_jobs.sink.keyed.driver import held, takes_changes, takes_table
from spark_jobs.sink.keyed.fates import ALL, BEFORE, COPIES, Fates, compared, fates, wins
from spark_jobs.sink.keyed.here import Merge, merged_here
from spark_jobs.sink.keyed.newest import COUNTED, newest
from spark_jobs.sink.keyed.standing import beside, key_broken, size
from spark_jobs.sink.keyed.ties import refuse_in_spark, refuse_ties, refusing
from spark_jobs.storage import delta
from spark_jobs.values.own_columns import DELETED, placed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import deltalake
    import pyarrow as pa
    from deltalake.table import TableMerger
    from pyspark.sql import Column, DataFrame

    from spark_jobs.spec import Latest


def follow(rows: DataFrame, step: Latest, commit: Commit) -> None:
    """Give the table what the batch says, in one commit that tells the fates of its changes.

    Raises RowRefused.changes_tied, where the step refuses ties.
    """
    table = delta.open_table(commit.table)
    found = size(table, commit.table)
    with refusing(rows, step, commit), held(newest(rows, step)) as changes:
        if found is not None and not found.all:
            _fill(changes, step, commit)
        elif takes_table(table, found) and takes_changes(changes):
            merge_here(changes.toArrow(), step, commit)
        else:
            merge_in_spark(changes, step, commit)


def _fill(changes: DataFrame, step: Latest, commit: Commit) -> None:
    nothing = (
        F.lit(None).cast(changes.schema[name].dataType).alias(BEFORE + name)
        for name in compared(step.order_by)
    )
    told = _told(changes.select("*", *nothing), step)
    append(changes.drop(*COUNTED), _telling(commit, told))


def merge_here(changes: pa.Table, step: Latest, commit: Commit) -> None:
    """Merge the newest changes by delta-rs."""

    def merge(table: deltalake.DeltaTable) -> Merge:
        held = beside(changes, table, step)
        if step.ties == "refuse":
            refuse_ties(held, step)
        written = changes.filter(wins(held, step.order_by)).drop_columns([*COUNTED])
        values = {f'"{name}"': f'new."{name}"' for name in written.column_names}

        def clauses(merger: TableMerger) -> TableMerger:
            merger = merger.when_matched_update(values, newer(step, '"'))
            return merger.when_not_matched_insert(values)

        return Merge(written, fates(held, step.order_by), same(step, '"'), clauses)

    merged_here(commit, merge)


def merge_in_spark(changes: DataFrame, step: Latest, commit: Commit) -> None:
    """Merge the newest changes, which are cached, by Delta's MERGE. Their fates are found anew
    where another writer was faster.
    """
    from delta.tables import DeltaTable  # noqa: PLC0415 - only large batches need it

    spark = changes.sparkSession
    written = changes.drop(*COUNTED)
    values: dict[str, str | Column] = {f"`{name}`": f"new.`{name}`" for name in written.columns}

    def merge_once() -> None:
        told = _told_beside_table(changes, step, commit)
        table = DeltaTable.forPath(spark, commit.path).alias("old")
        merger = table.merge(written.alias("new"), same(step, "`"))
        merger = merger.whenMatchedUpdate(newer(step, "`"), values)
        merger = merger.whenNotMatchedInsert(values=values)
        with marked(spark, _telling(commit, told)):
            merger.execute()

    again(merge_once, commit.path)


def _told_beside_table(changes: DataFrame, step: Latest, commit: Commit) -> Fates:
    """The fates by what the table has. Raises TableChanged if it has several rows of a key."""
    table = changes.sparkSession.read.format("delta").load(commit.path)
    lives = F.coalesce(F.col(DELETED), F.lit(False))  # a person's row has none
    before = [F.col(f"`{n}`").alias(BEFORE + n) for n in compared(step.order_by) if n != DELETED]
    keys = [F.col(f"`{name}`") for name in step.keys]
    known = table.select(*keys, *before, lives.alias(BEFORE + DELETED))
    joined = changes.join(known, list(step.keys), "left")
    told = _told(joined, step)
    if told.all > (changes.agg(F.sum(ALL)).collect()[0][0] or 0):
        several = joined.groupBy(*keys).count().where("count > 1").drop("count")
        raise key_broken(str(commit.table), several.collect()[0].asDict())
    return told


def same(step: Latest, quote: str) -> str:
    """SQL: whether a row of the table, `old`, and a change, `new`, have the same key."""
    names = (f"{quote}{name}{quote}" for name in step.keys)
    return " AND ".join(f"old.{name} = new.{name}" for name in names)


def newer(step: Latest, quote: str) -> str:
    """SQL: whether the position of `new` is above that of `old`, where a null is below all."""
    found = "false"
    for name in reversed(placed(step.order_by)):
        mine, theirs = (f"{of}.{quote}{name}{quote}" for of in ("new", "old"))
        found = f"({theirs} IS NULL OR {mine} > {theirs} OR ({mine} = {theirs} AND {found}))"
    return found


def _telling(commit: Commit, told: Fates) -> Commit:
    return commit._replace(note={**commit.note, "fates": told._asdict()})


def _told(changes: DataFrame, step: Latest) -> Fates:
    """The fates of changes with BEFORE columns: each part by the function that the driver uses.

    Raises Tied, where the step refuses ties.
    """
    if step.ties == "refuse":
        refuse_in_spark(changes, step)
    names = compared(step.order_by)
    needed = changes.select(
        ALL, COPIES, *(f"`{at}{name}`" for at in ("", BEFORE) for name in names)
    )
    order_by = step.order_by

    def of_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - in a worker of Spark

        for batch in batches:
            counts = fates(pa.Table.from_batches([batch]), order_by)._asdict()
            yield pa.RecordBatch.from_pylist([counts])

    columns = ", ".join(f"{name} bigint" for name in Fates._fields)
    rows = needed.mapInArrow(of_part, columns).collect()
    return sum((Fates(*row) for row in rows), Fates())
