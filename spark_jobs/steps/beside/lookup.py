"""Lookup in Spark: a join that each task makes by itself, with the dimension's rows of one version.

Those are at most one for a key at a time (side/dimension.py), so no row becomes two.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.errors import SpecInvalid
from spark_jobs.side.dimension import FROM, TO, key_column
from spark_jobs.spec import Lookup
from spark_jobs.steps.beside.matched import FOUND, count_name
from spark_jobs.steps.operator import At, StepContext
from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.steps.canonical.chain import Given


class LookupOperator(NamedTuple):
    """A Lookup, anywhere."""

    step: Lookup

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """See the function `with_fields`; with FOUND, which chain.py drops once it is counted."""
        return with_fields(rows, self.step, context.sides, context.event_time, FOUND)

    def counts(self) -> list[Column]:
        return [F.count_if(F.col(FOUND).isNull()).alias(count_name("", self.step.dimension.name))]

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        if KAFKA not in rows.columns:
            return with_fields(rows, self.step, at.sides, at.event_time)
        found = with_fields(rows, self.step, at.sides, at.event_time, FOUND)
        name = count_name(at.step_index, self.step.dimension.name)
        marked = F.col(KAFKA).withField(name, F.col(FOUND).isNull())
        return found.withColumn(KAFKA, marked).drop(FOUND)

    def reason(self, decoded: DataFrame, at: At) -> tuple[DataFrame, Column]:
        of = self.step
        rows = _joined(decoded, of, at.sides, at.event_time)
        return rows.select(*decoded.columns, FOUND), F.when(
            F.col(FOUND).isNull(), F.lit(of.rejected_because)
        )


def all_at_once(rows: DataFrame, step: Lookup, given: Given) -> DataFrame:
    """What its operator gives: it looks at no other batch."""
    return with_fields(rows.drop(KAFKA), step, given.sides, given.event_time)


def with_fields(
    rows: DataFrame, step: Lookup, sides: Mapping[str, DataFrame], event_time: str, *beside: str
) -> DataFrame:
    """The same rows with the dimension's fields, null where it has no row."""
    fields = [each.name for each in step.dimension.fields]
    joined = _joined(rows, step, sides, event_time)
    return joined.select(*(F.col(f"`{name}`") for name in rows.columns), *fields, *beside)


def _joined(
    rows: DataFrame, step: Lookup, sides: Mapping[str, DataFrame], event_time: str
) -> DataFrame:
    _refuse_types(rows, step)
    side = sides[step.dimension.name].withColumn(FOUND, F.lit(True))
    found: list[Column] = [
        rows[f"`{step.on[key.name]}`"] == side[key_column(number)]
        for number, key in enumerate(step.dimension.keys)
    ]
    if step.dimension.valid:
        at = rows[f"`{event_time}`"]
        found.append(side[FROM].isNull() | (side[FROM] <= at))
        found.append(side[TO].isNull() | (at < side[TO]))
    return rows.join(F.broadcast(side), reduce(Column.__and__, found), "left")


def _refuse_types(rows: DataFrame, step: Lookup) -> None:
    """Spark would compare an int with a text as numbers: 7 would find the rows of '7' and of '07'.
    Of a text with a collation it is the same.
    """
    for key in step.dimension.keys:
        name = step.on[key.name]
        kind = rows.select(F.col(f"`{name}`")).schema[0].dataType.simpleString()
        if kind != key.type:
            raise SpecInvalid.looked_up_by_other_type(
                name=name, kind=kind, key=key.name, dimension=step.dimension.name, type=key.type
            )
