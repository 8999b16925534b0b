"""Lookup in Spark: a join that each task makes by itself, with the dimension's rows of one version.

Those are at most one for a key at a time (side/unique.py), so no row becomes two.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.side.dimension import FROM, TO, key_column
from spark_jobs.spec import Lookup
from spark_jobs.steps.operator import At, StepContext
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.steps.canonical.chain import Given

FOUND: Final = own("found")
"""Whether there is a row; there while records are rejected."""


class LookupOperator(NamedTuple):
    """A Lookup, anywhere."""

    step: Lookup

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """See the function `with_fields`."""
        return with_fields(rows, self.step, context.sides, context.event_time)

    def counts(self) -> list[Column]:
        return []

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        return with_fields(rows, self.step, at.sides, at.event_time)

    def reason(self, decoded: DataFrame, at: At) -> tuple[DataFrame, Column]:
        """See RejectingOperator."""
        of = self.step
        fields = [each.name for each in of.dimension.fields]
        side = at.sides[of.dimension.name].drop(*fields).withColumn(FOUND, F.lit(True))
        rows = _joined(decoded, side, of, at.event_time)
        text = f"no {of.dimension.name} for {', '.join(of.on.values())}"
        return rows, F.when(F.col(FOUND).isNull(), F.lit(text))


def all_at_once(rows: DataFrame, step: Lookup, given: Given) -> DataFrame:
    """What its operator gives: it looks at no other batch."""
    return with_fields(rows.drop(KAFKA), step, given.sides, given.event_time)


def with_fields(
    rows: DataFrame, step: Lookup, sides: Mapping[str, DataFrame], event_time: str
) -> DataFrame:
    """The same rows with the dimension's fields, null where it has no row."""
    fields = [each.name for each in step.dimension.fields]
    joined = _joined(rows, sides[step.dimension.name], step, event_time)
    return joined.select(*(F.col(f"`{name}`") for name in rows.columns), *fields)


def _joined(rows: DataFrame, side: DataFrame, step: Lookup, event_time: str) -> DataFrame:
    found: list[Column] = [
        rows[f"`{step.on[key.name]}`"] == side[key_column(number)]
        for number, key in enumerate(step.dimension.keys)
    ]
    if step.dimension.valid:
        at = rows[f"`{event_time}`"]
        found.append(side[FROM].isNull() | (side[FROM] <= at))
        found.append(side[TO].isNull() | (at < side[TO]))
    return rows.join(F.broadcast(side), reduce(Column.__and__, found), "left")
