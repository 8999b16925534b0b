"""Canonical history: the versions of keys where all of their changes are there at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Window, functions as F

from spark_jobs.spec.steps.history import CURRENT, VALID_FROM, VALID_TO
from spark_jobs.steps.canonical.latest import folded
from spark_jobs.values.own_columns import DELETED, OF_A_KEY, SET, own, placed

if TYPE_CHECKING:
    from pyspark.sql import WindowSpec

    from spark_jobs.spec import History

_ROW: Final = own("row")


def chained(changes: DataFrame, known: DataFrame, step: History) -> DataFrame:
    """Of each place the change with the highest position, with its span. `known` are rows of the
    table, which are changes too.
    """
    changes = changes.unionByName(known.drop(*step.spans))
    chain = Window.partitionBy(*map(_quoted, step.keys)).orderBy(*map(_quoted, step.order_by))
    until_now = chain.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    if step.highest_decides:
        position = F.struct(*map(_quoted, placed(step.order_by)))
        whole = F.struct(*map(_quoted, changes.columns))
        last = changes.groupBy(*map(_quoted, step.row_key)).agg(
            F.max_by(whole, position).alias(_ROW)
        )
        rows = last.select(f"{_ROW}.*")
    else:
        rows = _carried(folded(changes, step.row_key, step), until_now, step)
    rows = rows.withColumn(VALID_FROM, F.max(_quoted(step.time)).over(until_now))
    rows = rows.withColumn(VALID_TO, F.lead(VALID_FROM).over(chain))
    newest = F.lead(F.lit(1)).over(chain).isNull()
    return rows.withColumn(CURRENT, newest & ~F.col(DELETED))


def _carried(rows: DataFrame, until_now: WindowSpec, step: History) -> DataFrame:
    """What a place does not set is that of the place before it."""
    own_ones = {*step.placed, *OF_A_KEY}

    def last(name: str) -> Column:
        sets = F.col(DELETED) | F.map_contains_key(SET, name)
        there = F.last(F.when(sets, F.struct(_quoted(name).alias("of"))), ignorenulls=True)
        return there.over(until_now)["of"].alias(name)

    return rows.select(*(_quoted(n) if n in own_ones else last(n) for n in rows.columns))


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
