"""Folds: how the table of a Latest that keeps what a change does not say gets a batch of changes.
In the driver by delta-rs; or in Spark, where the driver should not hold them.

Both make the rows by the same function, and write those that differ from the table's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from spark_jobs.sink.keyed.bucket import BUCKET, IN_A_BUCKET, summed, told
from spark_jobs.sink.keyed.commit import same
from spark_jobs.sink.keyed.driver import held, takes_changes, takes_table
from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.fold import fold
from spark_jobs.sink.keyed.here import Merge, merged_here
from spark_jobs.sink.keyed.in_spark import noted
from spark_jobs.sink.keyed.replacing import Replacing
from spark_jobs.sink.keyed.standing import key_broken, size
from spark_jobs.sink.keyed.versions_read import may_be, misplaced
from spark_jobs.table.delta import door
from spark_jobs.table.delta.commit import Commit, append
from spark_jobs.table.delta.contention import again
from spark_jobs.values.own_columns import DELETED, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import deltalake
    from deltalake.table import TableMerger
    from pyspark.sql import Column, DataFrame

    from spark_jobs.spec import Latest


def follow_partial(rows: DataFrame, step: Latest, commit: Commit) -> None:
    """Give the rows what the batch says, in one commit that tells the fates of its changes."""
    table = door.open_table(commit.table)
    found = size(table, commit.table)
    with held(rows) as changes:
        if takes_table(table, found) and takes_changes(changes):
            fold_here(changes.toArrow(), step, commit)
        else:
            fold_in_spark(changes, step, commit, empty=found is not None and not found.all)


def fold_here(changes: pa.Table, step: Latest, commit: Commit) -> None:
    """Merge by delta-rs, into the very version that the rows were made from."""

    def merge(table: deltalake.DeltaTable) -> Merge:
        scanned = door.dataset(table).to_batches(columns=changes.column_names)
        found = [batch.filter(may_be(batch, changes, step)) for batch in scanned]
        known = pa.Table.from_batches(found) if found else changes.slice(0, 0)
        if (broken := misplaced(known, step)) is not None:
            raise key_broken(str(commit.table), broken)
        made = fold(known, changes, step)
        values = {f'"{name}"': f'new."{name}"' for name in changes.column_names}

        def clauses(merger: TableMerger) -> TableMerger:
            return merger.when_matched_update(values).when_not_matched_insert(values)

        return Merge(made.rows, made.fates, same(step, '"'), clauses)

    merged_here(commit, merge)


def fold_in_spark(changes: DataFrame, step: Latest, commit: Commit, *, empty: bool) -> None:
    """Likewise by Spark: each task makes the rows of some keys. `changes` are cached. All is made
    anew where another writer was faster.
    """

    def fold_once() -> None:
        replacing = Replacing(changes.sparkSession, commit)
        if replacing.done:
            return
        keys = changes.select(*_quoted(step.keys)).distinct()
        with (
            held(replacing.rows.join(keys, list(step.keys), "left_semi")) as known,
            held(_made(changes, known, step, commit)) as made,
        ):
            told = summed(made.where(F.col(DELETED).isNull()), step, commit)
            rows = made.where(F.col(DELETED).isNotNull()).drop(*Fates._fields)
            if empty:
                append(rows, commit._replace(note=noted(commit, told)))
                return
            others = [each for each in known.columns if each not in {*step.keys, *rows.columns}]
            stay = known.select(*_quoted([*step.keys, *others]))  # a person's columns, and FILE
            new = rows.join(stay, list(step.keys), "left").withColumn(WHOLE, F.lit(True))
            new = new.select(*_quoted([*replacing.rows.columns, WHOLE]))
            replacing.put(new, step.keys, noted(commit, told))

    again(fold_once, commit.path)


def _made(changes: DataFrame, known: DataFrame, step: Latest, commit: Commit) -> DataFrame:
    """The rows that the table must get; and for each bucket one that has the fates of its changes,
    and null as DELETED.
    """
    from pyspark.sql.types import LongType, StructField, StructType  # noqa: PLC0415 - as chains.py

    fields = [StructField(each.name, each.dataType) for each in changes.schema]
    fields += [StructField(name, LongType()) for name in Fates._fields]
    columns = [each.name for each in fields]

    def of_bucket(given: pa.Table, there: pa.Table) -> pa.Table:
        if (broken := misplaced(there, step)) is not None:
            given = given.slice(0, 0)
        made = fold(there.drop_columns([BUCKET]), given.drop_columns([BUCKET]), step)
        both = [made.rows, told(made.fates, broken, there)]
        return pa.concat_tables(both, promote_options="permissive").select(columns)

    buckets = -(-commit.records // IN_A_BUCKET) or 1
    bucket = F.pmod(F.xxhash64(*_quoted(step.keys)), F.lit(buckets)).alias(BUCKET)
    of = (*_quoted(changes.columns), bucket)
    given, there = (each.select(*of).groupBy(BUCKET) for each in (changes, known))
    return given.cogroup(there).applyInArrow(of_bucket, StructType(fields))


def _quoted(names: Iterable[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]
