"""Replacing: rows in the place of a table's with their keys, by a transaction of Delta's own.

Delta's MERGE joins the table twice, and shuffles and sorts all rows of the files that it writes
anew. Here the files of the rows that go are read once more, with the new rows beside them: few of
them are in memory then, and nothing is shuffled.

Source: MergeIntoCommand and UpdateCommand of Delta 4.4, whose feed this one has too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.storage import failpoint
from spark_jobs.table.delta.commit import again, within
from spark_jobs.table.open_version import FILE, OpenedBySpark
from spark_jobs.values.own_columns import WHOLE, own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spark_jobs.table.entry import Commit, Note

_GONE: Final = own("gone")
_KIND: Final = "_change_type"
"""Of a row of the change feed; null in a row of the table."""
_WRITING: Final = {
    # Rows of two partitions and of the feed would be sorted before they are written.
    "spark.sql.maxConcurrentOutputFileWriters": "8"
}


class Replacing(OpenedBySpark):
    """A transaction of the table, from the version that it reads to its commit."""

    def __init__(self, spark: SparkSession, commit: Commit) -> None:
        self._spark, self._commit = spark, commit
        jvm: Any = spark._jvm  # noqa: SLF001 - Delta's transaction has no Python form
        self._jvm, self._delta = jvm, jvm.org.apache.spark.sql.delta
        self._log = self._delta.DeltaLog.forTable(self._spark._jsparkSession, commit.path)  # noqa: SLF001
        self._transaction = self._log.startTransaction()
        self._files = self._transaction.filterFiles()
        commit.confirm()  # behind the read: what a later holder commits then refuses this one

    @property
    def done(self) -> bool:
        """Whether the version has the batch: its answer was lost."""
        return bool(self._transaction.txnVersion(self._commit.owner) >= self._commit.batch_id)

    @property
    def has_rows(self) -> bool:
        return bool(self._files.nonEmpty())

    @property
    def rows(self) -> DataFrame:
        rows = self._frame(self._files)
        return rows.select("*", F.col("_metadata.file_path").alias(FILE))

    def put(
        self, new: DataFrame, keys: Sequence[str], anew: Sequence[str], note: Callable[[], Note]
    ) -> None:
        old = self._old(new) if self.has_rows else []
        had = F.col(FILE).isNotNull()
        columns = [f"`{name}`" for name in new.columns if name not in {FILE, WHOLE}]
        gone = new.where(had).select(*(f"`{key}`" for key in keys), F.lit(True).alias(_GONE))
        stay = self._frame(self._sequence(old)).join(gone, [*keys], "left")
        stay = stay.select(*columns, F.when(F.col(_GONE), "update_preimage").alias(_KIND))
        come = self._with_what_stays(new, old, keys, anew)
        feed = self._delta.DeltaConfigs.CHANGE_DATA_FEED()
        if old and feed.fromMetaData(
            self._transaction.metadata()
        ):  # Delta tells by itself what new files alone bring
            fed = F.when(had, "update_postimage").otherwise("insert")
            kinds = F.explode(F.array(F.lit(None).cast("string"), fed)).alias(_KIND)
            come = come.select(*columns, kinds)
        else:
            come, stay = come.select(*columns), stay.where(F.col(_KIND).isNull()).drop(_KIND)

        failpoint.at("replacing.read")
        stayed = self._written(stay) if old else self._sequence([])
        came = self._written(come)
        written, copied = self._count(came), self._count(stayed)
        replaced = self._count(old) - copied
        self._tell(
            operationNumSourceRows=written,
            numTargetRowsInserted=written - replaced,
            numTargetRowsUpdated=replaced,
            numTargetRowsCopied=copied,
        )
        now = self._jvm.System.currentTimeMillis()
        removed = self._sequence([each.removeWithTimestamp(now, True) for each in old])
        failpoint.at("replacing.written")
        self._finish(stayed.appendedAll(came).appendedAll(removed), note())

    def _with_what_stays(
        self, new: DataFrame, old: list[Any], keys: Sequence[str], anew: Sequence[str]
    ) -> DataFrame:
        """The rows, of which those that are not WHOLE are the table's own, with `anew`."""
        if not old:
            return new
        part = new.where(~F.col(WHOLE)).select(*(f"`{name}`" for name in (*keys, *anew)), FILE)
        if part.isEmpty():  # else the files are read once more
            return new
        stay = self._frame(self._sequence(old)).drop(*anew).join(part, [*keys])
        return new.where(WHOLE).drop(WHOLE).unionByName(stay)

    def _old(self, new: DataFrame) -> list[Any]:
        """The files with a row whose place another takes."""
        places = {unquote(place) for (place,) in new.select(FILE).distinct().collect() if place}
        base = str(self._log.dataPath().toUri()).rstrip("/")
        found = [
            each
            for each in self._each(self._files)
            if {unquote(each.path()), unquote(f"{base}/{each.path()}")} & places
        ]
        assert len(found) == len(places), (places, base)
        return found

    def _written(self, rows: DataFrame) -> Any:
        """The actions of the rows' files, and of the feed's."""
        with within(self._spark, _WRITING):
            return self._transaction.writeFiles(rows._jdf)  # noqa: SLF001

    def _count(self, actions: Iterable[Any]) -> int:
        """The rows in these files, by the files: not by what was meant to be written."""
        each = actions if isinstance(actions, list) else self._each(actions)
        files = [one for one in each if one.getClass().getSimpleName() == "AddFile"]
        return self._frame(self._sequence(files)).count() if files else 0

    def _tell(self, **counted: int) -> None:
        metrics = {}
        made = self._jvm.org.apache.spark.sql.execution.metric.SQLMetrics.createMetric
        for name, count in counted.items():
            metrics[name] = made(self._spark.sparkContext._jsc.sc(), name)  # noqa: SLF001
            metrics[name].set(count)
        told = self._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(metrics)
        self._transaction.registerSQLMetrics(self._spark._jsparkSession, told)  # noqa: SLF001

    def _finish(self, actions: Any, note: Note) -> None:
        nothing, none = self._jvm.scala.Option.empty(), self._sequence([])
        mark = self._delta.actions.SetTransaction(
            self._commit.owner, self._commit.batch_id, nothing
        )
        merge = getattr(self._delta, "DeltaOperations$Merge")
        operation = merge(nothing, nothing, nothing, nothing, none, none, none)
        said = {"spark.databricks.delta.commitInfo.userMetadata": json.dumps(note)}
        with within(self._spark, said):
            self._transaction.commit(actions.appended(mark), operation)

    def _frame(self, files: Any) -> DataFrame:
        version, nothing = self._transaction.snapshot(), self._jvm.scala.Option.empty()
        return DataFrame(self._log.createDataFrame(version, files, False, nothing), self._spark)

    def _sequence(self, items: list[Any]) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(items)

    @staticmethod
    def _each(sequence: Any) -> list[Any]:
        return [sequence.apply(at) for at in range(sequence.size())]


def at_newest(spark: SparkSession, commit: Commit, work: Callable[[OpenedBySpark], None]) -> None:
    """As Table.at_newest_by_spark."""

    def once() -> None:
        replacing = Replacing(spark, commit)
        if not replacing.done:
            work(replacing)

    again(once, commit.path)
