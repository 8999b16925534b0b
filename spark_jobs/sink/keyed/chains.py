"""Chains: how the table of a History gets a batch of changes. In the driver by delta-rs; or in
Spark, where the driver should not hold them: an append into an empty table, else Delta's MERGE.

Both make the chains by the same function, and both write only what differs from the table: so a
batch that is merged twice changes nothing, besides the transaction id that every batch has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from spark_jobs.sink.keyed.bucket import BUCKET, IN_A_BUCKET, summed, told
from spark_jobs.sink.keyed.driver import held, takes_changes, takes_table
from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.here import Merge, merged_here
from spark_jobs.sink.keyed.standing import key_broken, size
from spark_jobs.sink.keyed.versions import BEGINS, chain, kept_anew, known_of
from spark_jobs.sink.keyed.versions_read import misplaced, touched
from spark_jobs.spec.steps.history import CURRENT, SPAN
from spark_jobs.table.delta import door
from spark_jobs.table.delta.commit import Commit, append, columns_of, marked
from spark_jobs.table.delta.contention import again
from spark_jobs.values.own_columns import DELETED, WHOLE

if TYPE_CHECKING:
    import deltalake
    from pyspark.sql import DataFrame

    from spark_jobs.spec import History


def extend(rows: DataFrame, step: History, commit: Commit) -> None:
    """Give the chains what the batch says, in one commit that tells the fates of its changes."""
    table = door.open_table(commit.table)
    found = size(table, commit.table)
    with held(rows.drop(*SPAN)) as changes:
        if takes_table(table, found) and takes_changes(changes):
            extend_here(changes.toArrow(), step, commit)
        else:
            extend_in_spark(changes, step, commit, empty=found is not None and not found.all)


def extend_here(changes: pa.Table, step: History, commit: Commit) -> None:
    """Merge by delta-rs, into the very version that the chains were made from. Raises TableChanged
    if somebody has written what cannot stand in a chain.
    """

    def merge(table: deltalake.DeltaTable) -> Merge:
        versions = touched(door.dataset(table), changes, step)
        if (broken := misplaced(versions, step)) is not None:
            raise key_broken(str(commit.table), broken)
        made = chain(versions, changes, step)
        same = " AND ".join(f'old."{name}" = new."{name}"' for name in step.row_key)
        if made.newest_only:  # so no file of what has ended is written anew
            same += f' AND (old."{CURRENT}" OR old."{DELETED}")'
        all_ = {f'"{name}"': f'new."{name}"' for name in made.rows.column_names if name != WHOLE}
        anew = kept_anew(step, changes.column_names)
        kept = {f'"{name}"': f'new."{name}"' for name in anew}

        def clauses(merger: deltalake.table.TableMerger) -> deltalake.table.TableMerger:
            merger = merger.when_matched_update(kept, f'NOT new."{WHOLE}"')
            merger = merger.when_matched_update(all_, f'new."{WHOLE}"')
            return merger.when_not_matched_insert(all_)

        return Merge(made.rows, made.fates, same, clauses)

    merged_here(commit, merge)


def extend_in_spark(changes: DataFrame, step: History, commit: Commit, *, empty: bool) -> None:
    """Likewise by Spark: each task makes the chains of some keys. `changes` are cached. Raises
    TableChanged likewise.
    """
    with held(_made(changes, step, commit)) as made:
        fates = summed(made.where(F.col(WHOLE).isNull()), step, commit)
        rows = made.where(F.col(WHOLE).isNotNull()).drop(*Fates._fields)
        commit = commit._replace(note={**commit.note, "fates": fates._asdict()})
        if empty:
            append(rows.drop(WHOLE), commit)
        else:
            _merge(rows, step, commit)


def _made(changes: DataFrame, step: History, commit: Commit) -> DataFrame:
    """What the table must get, as `chain` has it; and for each bucket a row that has the fates of
    its changes, and null as WHOLE.
    """
    from pyspark.sql.types import BooleanType, LongType, StructField, StructType  # noqa: PLC0415

    table = changes.sparkSession.read.format("delta").load(commit.path)
    keys = [f"`{name}`" for name in step.keys]
    known = table.select(
        *(f"`{name}`" for name in known_of(step, changes.columns)),
        F.col(f"`{step.time}`").alias(BEGINS),
    )
    known = known.join(changes.select(*keys).distinct(), list(step.keys), "left_semi")
    ours = [table.schema[name] for name in (*changes.columns, *SPAN)]  # not what a person added
    schema = StructType([*ours, StructField(WHOLE, BooleanType())])
    for name in Fates._fields:
        schema.add(name, LongType())
    schema = StructType([StructField(f.name, f.dataType, nullable=True) for f in schema])
    columns = schema.names

    def of_bucket(given: pa.Table, there: pa.Table) -> pa.Table:
        if (broken := misplaced(there, step)) is not None:
            given, there = given.slice(0, 0), there.slice(0, 0)
        made = chain(there.drop_columns([BUCKET]), given.drop_columns([BUCKET]), step)
        both = [made.rows, told(made.fates, broken, there)]
        return pa.concat_tables(both, promote_options="permissive").select(columns)

    buckets = -(-commit.records // IN_A_BUCKET)
    bucket = F.pmod(F.xxhash64(*keys), F.lit(buckets)).alias(BUCKET)
    given, there = (each.select("*", bucket).groupBy(BUCKET) for each in (changes, known))
    return given.cogroup(there).applyInArrow(of_bucket, schema)


def _merge(rows: DataFrame, step: History, commit: Commit) -> None:
    from delta.tables import DeltaTable  # noqa: PLC0415 - only large batches need it

    spark = rows.sparkSession
    same = " AND ".join(f"old.`{name}` = new.`{name}`" for name in step.row_key)
    ours = columns_of(rows.drop(WHOLE))
    kept = columns_of(rows.select(*(f"`{name}`" for name in kept_anew(step, rows.columns))))

    def merge_once() -> None:
        table = DeltaTable.forPath(spark, commit.path).alias("old")
        merger = table.merge(rows.alias("new"), same)
        merger = merger.whenMatchedUpdate(f"NOT new.`{WHOLE}`", kept)
        merger = merger.whenMatchedUpdate(f"new.`{WHOLE}`", ours)
        merger.whenNotMatchedInsert(values=ours).execute()

    with marked(spark, commit):
        again(merge_once, commit.path)
