"""Newest: the newest change of each key in a batch, in Spark, however the batch is ordered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.sink.keyed.fates import ALL, COPIES
from spark_jobs.spec import Latest
from spark_jobs.values.own_columns import CONTENTS, DELETED, own, placed

COUNTED: Final = (ALL, COPIES)
_ROW: Final = own("row")


def newest(rows: DataFrame, step: Latest) -> DataFrame:
    """One row a key: the columns of `rows`, and COUNTED."""
    alike = (*step.keys, *step.order_by, DELETED, CONTENTS)
    whole = F.struct(*_columns(rows.columns))
    # Once by key, and then within each partition: the groups need no second shuffle.
    copies = (
        rows.repartition(*_columns(step.keys))
        .groupBy(*_columns(alike))
        .agg(
            F.max_by(whole, _position(step)).alias(_ROW),
            F.count(F.lit(1)).alias(COPIES),
        )
    )
    last = copies.groupBy(*_columns(step.keys)).agg(
        F.max_by(F.struct(_ROW, COPIES), _position(step, f"{_ROW}.")).alias(_ROW),
        F.sum(COPIES).alias(ALL),
    )
    return last.select(f"{_ROW}.{_ROW}.*", f"{_ROW}.{COPIES}", ALL)


def _position(step: Latest, within: str = "") -> Column:
    return F.struct(*(F.col(f"{within}`{name}`") for name in placed(step.order_by)))


def _columns(names: Iterable[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]
