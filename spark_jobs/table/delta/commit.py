"""Commit: writes a batch's rows and its transaction id in one Delta commit, one function for each
way of writing. Which one a pipeline has: strategy.py.

A conflict: another writer changed the table between the moment at which a commit read it and the
commit. Delta then refuses the commit, and nothing of it is in the table (its docs: "Concurrency
control"). OPTIMIZE is such a writer for MERGE and overwrite, though it changes no row: files that
the commit has read are gone. Appends read nothing, and go on.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from spark_jobs.errors import TableContended
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import own

LOG = logging.getLogger(__name__)
ATTEMPTS = 5
_CONFLICT = re.compile(r"io\.delta\.exceptions\.(?P<name>\w+Exception): (?P<text>[^\n]+)")
OF_FILES = frozenset(
    {
        "ConcurrentAppendException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentDeleteReadException",
        "ConcurrentWriteException",
    }
)
"""Conflicts after which the same commit succeeds, once it has read the table anew.

Others are about the table's columns and features, or a second writer of the same batch.
"""


class Conflict(NamedTuple):
    """Delta's exception."""

    name: str
    text: str


def conflict(error: BaseException) -> Conflict | None:
    """The conflict of commits that the error is; None for another error.

    Delta's Python exceptions exist only once delta.tables is imported; before that it is Java's.
    """
    kind = type(error)
    if kind.__module__.startswith("delta.exceptions"):
        return Conflict(kind.__name__, _first_line(str(error)))
    found = _CONFLICT.search(str(error))
    return Conflict(found["name"], _first_line(found["text"])) if found else None


def again(commit: Callable[[], object], path: str) -> None:
    """Make the commit, and make it anew after a conflict of files, ATTEMPTS times in all.

    Only for a commit whose rows are cached: a batch of a stateful query may run only once.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            commit()
        except Exception as error:
            found = conflict(error)
            if found is None or found.name not in OF_FILES or not left:
                raise
            LOG.warning("%s was changed while the batch was written: written again", path)
        else:
            return


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """Raise Delta's conflicts within the block as TableContended."""
    try:
        yield
    except Exception as error:
        found = conflict(error)
        if found is None:
            raise
        raise TableContended.written_meanwhile(
            path=path, conflict=found.name, error=found.text
        ) from None


def _first_line(text: str) -> str:
    """What happened, without Delta's advice and link."""
    first = next(iter(text.strip().splitlines()), "no message")
    return f"{first.partition(' Please retry')[0][:300].rstrip('.')}."


_ORDER, _LAST = own("order"), own("last")
ARCHIVED = {
    "spark.sql.parquet.compression.codec": "zstd",
    "parquet.compression.codec.zstd.level": "3",
    # No two values are alike: a dictionary of them is hashed, grows to a megabyte, and is dropped.
    "parquet.enable.dictionary#value": "false",
}
"""How an archive's files are compressed."""


def append(rows: DataFrame, commit: Commit) -> None:
    """Append the rows.

    It uses Delta's own transaction, not `write.option("txnAppId", ...)`. With that option Delta
    reads its log in a Spark job before each write to find the last id, which the sink knows
    already. That costs as much as the rest of a small batch.

    Raises Delta's ConcurrentTransactionException if another writer has committed with the same
    owner meanwhile. Source: OptimisticTransaction.writeFiles and .commit, as
    DeltaSink.addBatchWithStatusImpl of Delta 4.4 uses them.
    """
    spark = rows.sparkSession
    jvm: Any = spark._jvm  # noqa: SLF001 - Delta's transaction has no Python form
    delta = jvm.org.apache.spark.sql.delta
    some, nothing = jvm.scala.Option.apply, jvm.scala.Option.empty()

    transaction = delta.DeltaLog.forTable(spark._jsparkSession, commit.path).startTransaction()  # noqa: SLF001
    transaction.readTxn().addOne(commit.owner)
    commit.confirm()  # for NFS, where no log store asks
    files = transaction.writeFiles(rows._jdf)  # noqa: SLF001
    mark = delta.actions.SetTransaction(commit.owner, commit.batch_id, nothing)
    appending = jvm.org.apache.spark.sql.streaming.OutputMode.Append()
    streaming_update = getattr(delta, "DeltaOperations$StreamingUpdate")
    operation = streaming_update(
        appending, commit.owner, commit.batch_id, some(json.dumps(commit.note))
    )
    transaction.commit(files.appended(mark), operation)


def archive(rows: DataFrame, commit: Commit) -> None:
    """Append an archive's rows, compressed for long."""
    with within(rows.sparkSession, ARCHIVED):
        append(rows, commit)


def merge(rows: DataFrame, keys: tuple[str, ...], commit: Commit) -> None:
    """Replace the table's rows with equal keys (null equals null) and add the others: Delta's
    MERGE. It is repeated if another writer, such as OPTIMIZE, changed the files that it read.
    """
    from delta.tables import DeltaTable  # noqa: PLC0415 - only update mode needs it

    # MERGE reads its source twice, but a batch of a stateful query may run only once.
    batch = rows.persist()
    try:
        with marked(rows.sparkSession, commit):
            same = " AND ".join(f"old.`{key}` <=> new.`{key}`" for key in keys) or "true"
            ours = columns_of(rows)

            def merge_once() -> None:
                table = DeltaTable.forPath(rows.sparkSession, commit.path).alias("old")
                merger = table.merge(batch.alias("new"), same)
                merger.whenMatchedUpdate(set=ours).whenNotMatchedInsert(values=ours).execute()

            again(merge_once, commit.path)
    finally:
        batch.unpersist()


def columns_of(rows: DataFrame) -> dict[str, str | Column]:
    """What a MERGE of these as `new` writes: a column that a person has added stays as it is."""
    return {f"`{name}`": F.col(f"new.`{name}`") for name in rows.columns}


def replace(rows: DataFrame, commit: Commit) -> None:
    """Replace all rows of the table."""
    with marked(rows.sparkSession, commit):
        whole = rows.write.format("delta").mode("overwrite")
        whole.option("partitionOverwriteMode", "static").save(commit.path)


def remove(spark: SparkSession, path: SparkPath, where: str, said: Mapping[str, Any]) -> bool:
    """Remove the rows for which Spark's SQL holds, in a commit that says this. Whether any went."""
    from delta.tables import DeltaTable  # noqa: PLC0415 - as above

    stored = DeltaTable.forPath(spark, path)
    if stored.toDF().where(where).isEmpty():
        return False
    with within(spark, {"spark.databricks.delta.commitInfo.userMetadata": json.dumps(said)}):
        stored.delete(where)
    return True


def newest(rows: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The last row of each key.

    A key's rows are in one partition, in the order in which the processor yielded them.
    """
    numbered = rows.withColumn(_ORDER, F.monotonically_increasing_id())
    last = numbered.groupBy(*keys).agg(F.max_by(F.struct(*rows.columns), _ORDER).alias(_LAST))
    return last.select(f"{_LAST}.*")


@contextmanager
def marked(spark: SparkSession, commit: Commit) -> Iterator[None]:
    """Add the transaction id and the note to every Delta commit within the block."""
    settings = {
        "spark.databricks.delta.write.txnAppId": commit.owner,
        "spark.databricks.delta.write.txnVersion": str(commit.batch_id),
        "spark.databricks.delta.commitInfo.userMetadata": json.dumps(commit.note),
    }
    with within(spark, settings):
        yield


@contextmanager
def within(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set these options of the session within the block."""
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)
