"""Canonical history: the versions of keys where all of their changes are there at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Window, functions as F

from spark_jobs.spec.steps.history import CURRENT, VALID_FROM, VALID_TO
from spark_jobs.steps.canonical.copies import columns, once, position
from spark_jobs.values.own_columns import DELETED, own

if TYPE_CHECKING:
    from spark_jobs.spec import History

_ROW: Final = own("row")


def chained(changes: DataFrame, known: DataFrame, step: History) -> DataFrame:
    """Of each place the change with the highest position, with its span. `known` are rows of the
    table, which are changes too.
    """
    changes = once(changes, known.drop(*step.spans), step)
    whole = F.struct(*columns(changes.columns))
    last = changes.groupBy(*columns(step.row_key)).agg(F.max_by(whole, position(step)).alias(_ROW))
    rows = last.select(f"{_ROW}.*")
    chain = Window.partitionBy(*columns(step.keys)).orderBy(*columns(step.order_by))
    until_now = chain.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    rows = rows.withColumn(VALID_FROM, F.max(f"`{step.time}`").over(until_now))
    rows = rows.withColumn(VALID_TO, F.lead(VALID_FROM).over(chain))
    newest = F.lead(F.lit(1)).over(chain).isNull()
    return rows.withColumn(CURRENT, newest & ~F.col(DELETED))
