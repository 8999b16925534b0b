"""Canonical history: the versions of keys where all of their changes are there at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Window, functions as F

from spark_jobs.spec.steps.history import CURRENT, VALID_FROM, VALID_TO
from spark_jobs.steps.canonical.copies import columns, once, position
from spark_jobs.steps.canonical.latest import NEW, folded
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, SET, own

if TYPE_CHECKING:
    from pyspark.sql import WindowSpec

    from spark_jobs.spec import History

_ROW: Final = own("row")


def chained(changes: DataFrame, known: DataFrame, step: History) -> DataFrame:
    """Of each place the change with the highest position, with its span. `known` are rows of the
    table, which are changes too.
    """
    known = known.drop(*step.spans)
    chain = Window.partitionBy(*columns(step.keys)).orderBy(*columns(step.order_by))
    until_now = chain.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    if step.highest_decides:
        changes = once(changes, known, step)
        whole = F.struct(*columns(changes.columns))
        newest = F.max_by(whole, position(step)).alias(_ROW)
        rows = changes.groupBy(*columns(step.row_key)).agg(newest).select(f"{_ROW}.*")
    else:
        rows = _carried(folded(changes, known, step.row_key, step), until_now, step)
    rows = rows.withColumn(VALID_FROM, F.max(f"`{step.time}`").over(until_now))
    rows = rows.withColumn(VALID_TO, F.lead(VALID_FROM).over(chain))
    newest = F.lead(F.lit(1)).over(chain).isNull()
    return rows.withColumn(CURRENT, newest & ~F.col(DELETED))


def _carried(rows: DataFrame, until_now: WindowSpec, step: History) -> DataFrame:
    """What a place does not set is that of the place before it; what the table has there stays,
    unless another change sets it now.
    """
    own_ones = {*step.placed, *OF_A_KEY}

    def last(name: str) -> Column:
        sets = F.col(DELETED) | F.map_contains_key(SET, name)
        new = F.col(NEW).isNull() | F.array_contains(NEW, name)
        setter = F.struct(F.col(f"`{name}`").alias("of"), new.alias("new"))
        found = F.last(F.when(sets, setter), ignorenulls=True).over(until_now)
        stays = F.col(NEW).isNotNull() & ~F.coalesce(found["new"], F.lit(False))
        return F.when(stays, F.col(f"`{name}`")).otherwise(found["of"]).alias(name)

    columns = [name for name in rows.columns if name != NEW]
    return rows.select(*(F.col(f"`{n}`") if n in own_ones else last(n) for n in columns))
