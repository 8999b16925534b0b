"""In Spark: a batch of changes, each of whose tasks merges those of some keys; and their rows in
the place of the table's with these keys, by a transaction of Delta's own.

Delta's MERGE joins the table twice, and shuffles and sorts all rows of the files that it writes
anew; the fates of the changes would need a third join. Here the rows that changes meet are found
once, with their files. These files are read once more, with the changes beside them: few of them
are in memory then, and nothing is shuffled.

Source: MergeIntoCommand and UpdateCommand of Delta 4.4, whose feed this one has too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession, functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from spark_jobs.sink.keyed.driver import held
from spark_jobs.sink.keyed.standing import key_broken
from spark_jobs.steps.keyed.buckets import buckets_of, in_buckets
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.steps.keyed.merge import kept_anew, merged
from spark_jobs.steps.keyed.places import known_of, misplaced
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.commit import again, within
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import WHOLE, own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import Column

    from spark_jobs.sink.keyed.driver import Load
    from spark_jobs.spec.steps.following import Following
    from spark_jobs.table.entry import Note

FILE: Final = own("file")
"""The file of a row."""
_GONE: Final = own("gone")
_KIND: Final = "_change_type"
"""Of a row of the change feed; null in a row of the table."""
_WRITING: Final = {
    # Rows of two partitions and of the feed would be sorted before they are written.
    "spark.sql.maxConcurrentOutputFileWriters": "8"
}


class Replacing:
    """A transaction of the table, from the version that it reads to its commit."""

    def __init__(self, spark: SparkSession, commit: Commit) -> None:
        self._spark, self._commit = spark, commit
        jvm: Any = spark._jvm  # noqa: SLF001 - Delta's transaction has no Python form
        self._jvm, self._delta = jvm, jvm.org.apache.spark.sql.delta
        self._log = self._delta.DeltaLog.forTable(self._spark._jsparkSession, commit.path)  # noqa: SLF001
        self._transaction = self._log.startTransaction()
        self._files = self._transaction.filterFiles()
        commit.confirm()  # behind the read, as follow.py has it

    @property
    def done(self) -> bool:
        """Whether the version has the batch: its answer was lost."""
        return bool(self._transaction.txnVersion(self._commit.owner) >= self._commit.batch_id)

    @property
    def has_rows(self) -> bool:
        """Whether the version has a file."""
        return bool(self._files.nonEmpty())

    @property
    def _has_feed(self) -> bool:
        feed = self._delta.DeltaConfigs.CHANGE_DATA_FEED()
        return bool(feed.fromMetaData(self._transaction.metadata()))

    @property
    def rows(self) -> DataFrame:
        """Of the version, each with FILE."""
        rows = self._frame(self._files)
        return rows.select("*", F.col("_metadata.file_path").alias(FILE))

    def put(
        self,
        new: DataFrame,
        keys: Sequence[str],
        anew: Sequence[str],
        note: Callable[[], Note],
    ) -> None:
        """Commit these rows: the columns of `rows`, and WHOLE. FILE of each is that of the row with
        its key; null where there is none. Where WHOLE is false, that row stays but for the columns
        `anew`. They are cached; those of an empty table are read once, and `note` is asked then.
        """
        old = self._old(new) if self.has_rows else []
        had = F.col(FILE).isNotNull()
        columns = [f"`{name}`" for name in new.columns if name not in {FILE, WHOLE}]
        gone = new.where(had).select(*(f"`{key}`" for key in keys), F.lit(True).alias(_GONE))
        stay = self._frame(self._sequence(old)).join(gone, [*keys], "left")
        stay = stay.select(*columns, F.when(F.col(_GONE), "update_preimage").alias(_KIND))
        come = self._with_what_stays(new, old, keys, anew)
        if old and self._has_feed:  # Delta tells by itself what new files alone bring
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


_BROKEN: Final = own("broken")


def merge_in_spark(changes: DataFrame, of: Load, step: Following, commit: Commit) -> None:
    """Merge the changes, which are cached, into the very version that they were merged with. All is
    made anew where another writer was faster. Raises TableChanged if somebody has broken a key.
    """
    anew = kept_anew(step, changes.columns)

    def merge_once() -> None:
        replacing = Replacing(changes.sparkSession, commit)
        if replacing.done:
            return
        made, sums = _made(changes, replacing.rows, step, of), _told_of(step)
        if of.rows and not replacing.has_rows:  # some rows come, which are read once
            told = Observation()
            rows = _rows(made.observe(told, *sums))
            replacing.put(rows, step.row_key, anew, lambda: noted(told.get, commit))
            return
        with held(made) as found:
            (one,) = found.agg(*sums).collect()
            note = noted(one.asDict(), commit)
            replacing.put(_rows(found), step.row_key, anew, lambda: note)

    again(merge_once, commit.path)


def _made(changes: DataFrame, table: DataFrame, step: Following, of: Load) -> DataFrame:
    """What the table must get, as `merged` has it, with all columns of `table`: what a person has
    added stays, and FILE is that of the row at the place. For each bucket one more row tells the
    fates of its changes, where WHOLE is null.
    """
    others = [name for name in table.columns if name not in {*changes.columns, *step.spans}]
    needed = [*known_of(step, changes.columns), *others]
    keys = changes.select(*_quoted(step.keys)).distinct()
    known = table.select(*_quoted(needed)).join(keys, [*step.keys], "left_semi")
    kinds = {each.name: each.dataType for each in (*table.schema, *changes.schema)}
    kinds |= {WHOLE: BooleanType(), **dict.fromkeys(Fates._fields, LongType())}

    def make(there: pa.Table, given: pa.Table) -> pa.Table:
        broken = misplaced(there, step)
        if broken is not None:
            given, there = given.slice(0, 0), there.slice(0, 0)
        made = merged(there, given, step)
        at = pa.array(made.there, mask=made.there < 0)
        stay = {name: there[name].take(at) for name in others}
        rows = [*made.rows.columns, *stay.values()]
        rows = pa.table(rows, [*made.rows.column_names, *stay])
        told = _told(made.fates, broken, there.schema)
        return pa.concat_tables([rows, told], promote_options="permissive")

    schema = StructType([StructField(*each) for each in kinds.items()])
    return in_buckets(known, changes, step, buckets_of(of.rows, of.bytes), make, schema)


def _told(fates: Fates, broken: Mapping[str, object] | None, columns: pa.Schema) -> pa.Table:
    """One row: the fates, or the broken key, with its columns' types."""
    if broken is None:
        return pa.table({name: [count] for name, count in fates._asdict().items()})
    return pa.table(
        {name: pa.array([value], columns.field(name).type) for name, value in broken.items()}
        | {name: pa.array([None], pa.int64()) for name in Fates._fields}
    )


def _told_of(step: Following) -> list[Column]:
    """A broken key, if there is one; and the sums of the fates."""
    keys = F.when(
        F.col(WHOLE).isNull() & F.col(Fates._fields[0]).isNull(), F.struct(*_quoted(step.keys))
    )
    return [F.max(keys).alias(_BROKEN), *(F.sum(name).alias(name) for name in Fates._fields)]


def noted(told: dict[str, Any], commit: Commit) -> Note:
    """What the commit says of itself. Raises TableChanged if a person has broken a key."""
    broken = told.pop(_BROKEN)
    if broken is not None:
        raise key_broken(str(commit.table), broken.asDict())
    return {**commit.note, "fates": {name: count or 0 for name, count in told.items()}}


def _rows(made: DataFrame) -> DataFrame:
    return made.where(F.col(WHOLE).isNotNull()).drop(*Fates._fields)


def _quoted(names: Iterable[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]
