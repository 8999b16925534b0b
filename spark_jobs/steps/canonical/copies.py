"""Copies: changes that are equal in order_by and contents, beside the table's rows, in Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.values.own_columns import CONTENTS, DELETED, PLACE, own, placed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.spec.steps.following import Following

KNOWN: Final = own("known")
"""Whether a row is of the table."""
_ROW, _PLACE = own("row"), own("place")


def once(changes: DataFrame, known: DataFrame, step: Following) -> DataFrame:
    """Both, with one row for all copies of a change. It is at the highest of their places, and has
    what the table has, if that has one of them: a copy does not undo a person's correction.
    """
    alike = dict.fromkeys((*step.keys, *step.order_by, DELETED, CONTENTS))
    others = [name for name in changes.columns if name not in {*alike, *PLACE}]
    found = (
        beside(changes, known)
        .groupBy(*columns(alike))
        .agg(
            F.max_by(F.struct(*columns(others)), position(step, KNOWN)).alias(_ROW),
            F.max(F.struct(*columns(PLACE))).alias(_PLACE),
        )
    )
    return found.select(*columns(alike), f"{_ROW}.*", f"{_PLACE}.*").select(
        columns(changes.columns)
    )


def beside(changes: DataFrame, known: DataFrame) -> DataFrame:
    """Both, with KNOWN."""
    marked = (rows.withColumn(KNOWN, F.lit(of)) for rows, of in ((changes, False), (known, True)))
    first, last = marked
    return first.unionByName(last)


def position(step: Following, *heavier: str) -> Column:
    return F.struct(*columns([*heavier, *placed(step.order_by)]))


def columns(names: Iterable[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]
