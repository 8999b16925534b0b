"""Lookup in Spark: a join that each task makes by itself, with the dimension's rows of one version.

Those are at most one for a key at a time (side/unique.py), so no row becomes two.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.errors import SpecInvalid
from spark_jobs.side.dimension import FROM, TO, key_column
from spark_jobs.spec import Lookup
from spark_jobs.steps.operator import At, StepContext
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.spec import Pipeline
    from spark_jobs.steps.canonical.chain import Given

FOUND: Final = own("found")
"""Whether the dimension has a row; there until it is counted."""
UNMATCHED: Final = "unmatched"
"""How the name of an observed count begins: of the rows for which a dimension has none. Behind it
are the step's index, where the rows are records, and the dimension's name.
"""


class LookupOperator(NamedTuple):
    """A Lookup, anywhere."""

    step: Lookup

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """See the function `with_fields`; with FOUND, which chain.py drops once it is counted."""
        return with_fields(rows, self.step, context.sides, context.event_time, FOUND)

    def counts(self) -> list[Column]:
        return [F.count_if(F.col(FOUND).isNull()).alias(_named("", self.step))]

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        if KAFKA not in rows.columns:
            return with_fields(rows, self.step, at.sides, at.event_time)
        found = with_fields(rows, self.step, at.sides, at.event_time, FOUND)
        named = F.col(KAFKA).withField(_named(at.step_index, self.step), F.col(FOUND).isNull())
        return found.withColumn(KAFKA, named).drop(FOUND)

    def reason(self, decoded: DataFrame, at: At) -> tuple[DataFrame, Column]:
        """See RejectingOperator."""
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


def unmatched_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over the stateful input, bigint: for each Lookup before it an unmatched count."""
    return [F.count_if(f"{KAFKA}.{name}").alias(name) for name in _of_records(spec)]


def without_counted(stateful_input: DataFrame, spec: Pipeline) -> DataFrame:
    """The same rows, with kafka as they were read with it."""
    if names := _of_records(spec):
        return stateful_input.withColumn(KAFKA, F.col(KAFKA).dropFields(*names))
    return stateful_input


def _of_records(spec: Pipeline) -> list[str]:
    before = enumerate(spec.before_state)
    return [_named(index, step) for index, step in before if isinstance(step, Lookup)]


def unmatched(observed: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Dimension -> the rows that found none of its rows, by what was observed of them."""
    found = Counter[str]()
    for metrics in observed:
        for name, count in metrics.items():
            word, *rest = name.split("_", 2)
            if word == UNMATCHED and rest:
                found[rest[-1]] += int(count or 0)
    return dict(found)


def _named(index: int | str, step: Lookup) -> str:
    return f"{UNMATCHED}_{index}_{step.dimension.name}"


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
