"""Newest: the newest change of each key in a batch, in Spark, however the batch is ordered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.sink.keyed.fates import ALL, COPIES
from spark_jobs.sink.keyed.ties import OTHERS
from spark_jobs.spec import Latest
from spark_jobs.values.own_columns import CONTENTS, DELETED, OFFSET, PARTITION, own, placed

COUNTED: Final = (ALL, COPIES, OTHERS)
_ROW, _FIRST = own("row"), own("first")


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
            F.min(F.struct(OFFSET, PARTITION)).alias(_FIRST),
        )
    )
    if step.ties == "refuse":
        return _first_of_ties(copies, step)
    last = copies.groupBy(*_columns(step.keys)).agg(
        F.max_by(F.struct(_ROW, COPIES), _position(step, f"{_ROW}.")).alias(_ROW),
        F.sum(COPIES).alias(ALL),
    )
    return last.select(f"{_ROW}.{_ROW}.*", f"{_ROW}.{COPIES}", ALL, F.lit(0).alias(OTHERS))


def _first_of_ties(copies: DataFrame, step: Latest) -> DataFrame:
    """Of equal order_by the contents that came first; OTHERS counts those that differ."""
    keys, order = _columns(step.keys), _columns(step.order_by)
    level = copies.groupBy(*keys, *order).agg(
        F.min_by(F.struct(_ROW, COPIES), _FIRST).alias(_ROW), F.sum(COPIES).alias(ALL)
    )
    last = level.groupBy(*keys).agg(
        F.max_by(F.struct(_ROW, ALL), F.struct(*order)).alias(_ROW), F.sum(ALL).alias(ALL)
    )
    others = F.col(f"{_ROW}.{ALL}") - F.col(f"{_ROW}.{_ROW}.{COPIES}")
    return last.select(
        f"{_ROW}.{_ROW}.{_ROW}.*", f"{_ROW}.{_ROW}.{COPIES}", ALL, others.alias(OTHERS)
    )


def _position(step: Latest, within: str = "") -> Column:
    return F.struct(*(F.col(f"{within}`{name}`") for name in placed(step.order_by)))


def _columns(names: Iterable[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]
