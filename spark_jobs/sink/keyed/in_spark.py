"""In Spark: a batch of changes, each of whose tasks merges those of some keys.

The rows that changes meet are found once, with their files, which a commit then replaces: a MERGE
would join the table twice, and the fates of the changes would need a third join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from spark_jobs.errors import TableChanged
from spark_jobs.sink.keyed.driver import held
from spark_jobs.steps.keyed.buckets import buckets_of, in_buckets
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.steps.keyed.merge import kept_anew, merged
from spark_jobs.steps.keyed.places import known_of, misplaced
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.table.tables import own_table
from spark_jobs.values.own_columns import WHOLE, own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column

    from spark_jobs.sink.keyed.driver import Load
    from spark_jobs.spec.steps.following import Following
    from spark_jobs.table.entry import Commit, Note
    from spark_jobs.table.open_version import OpenedBySpark

_BROKEN: Final = own("broken")


def merge_in_spark(changes: DataFrame, of: Load, step: Following, commit: Commit) -> None:
    """Merge the changes, which are cached, into the very version that they were merged with. All is
    made anew where another writer was faster. Raises TableChanged if somebody has broken a key.
    """
    anew = kept_anew(step, changes.columns)

    def work(table: OpenedBySpark) -> None:
        made, sums = _made(changes, table.rows, step, of), _told_of(step)
        if of.rows and not table.has_rows:  # some rows come, which are read once
            told = Observation()
            rows = _rows(made.observe(told, *sums))
            table.put(rows, step.row_key, anew, lambda: noted(told.get, commit))
            return
        with held(made) as found:
            (one,) = found.agg(*sums).collect()
            note = noted(one.asDict(), commit)
            table.put(_rows(found), step.row_key, anew, lambda: note)

    own_table(commit.table).at_newest_by_spark(changes.sparkSession, commit, work)


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


def key_broken(table: str, key: Mapping[str, object]) -> TableChanged:
    """The error of a table in which a person has added a row of the key."""
    told = ", ".join(f"{name} = {value}" for name, value in key.items())
    return TableChanged.key_broken(table=table, key=told, sql=sql_table(table))
