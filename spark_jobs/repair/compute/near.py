"""Near: whether two values of a measure differ by no more than the order of added doubles makes.

By the measure's terms (steps/canonical/rounding.py), never by its result: 0.0 and 2.9e-11 are near
where the terms are large, and 1e12 and 1e12 + 1 are not where they are few.
"""

from __future__ import annotations

from pyspark.sql import Column, functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DoubleType,
    FloatType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)

ULPS = 8.9e-16
"""Four roundings of the result itself, relative: a quotient of sums is rounded too."""
ORDERED = (NumericType, DateType, TimestampType, TimestampNTZType)


def near(before: Column, after: Column, moved: Column, kind: DataType) -> Column:
    """boolean. `moved` array: `after` with one sum after the other moved up and down by its bound.

    Doubles may be off by as much as all the sums together make of them. Another number that is
    computed from sums, such as a rounded amount, lies between what they make of it; any other value
    is one of these.
    """
    if isinstance(kind, DoubleType | FloatType):
        near = F.abs(before - after) <= _most(after, moved)
    elif isinstance(kind, ORDERED):
        near = before.between(
            F.least(after, F.array_min(moved)), F.greatest(after, F.array_max(moved))
        )
    else:
        near = F.array_contains(moved, before)
    return F.coalesce(near, F.lit(False))


def _most(after: Column, moved: Column) -> Column:
    """Null unless it is a number: for Spark nothing is larger than NaN."""
    after, moved = after.cast("double"), moved.cast("array<double>")
    off = F.transform(moved, lambda each: F.abs(each - after))
    # Up and down by turns: of each two the larger counts.
    pairs = F.sequence(F.lit(1), F.size(off), F.lit(2))
    largest = F.transform(
        pairs, lambda at: F.greatest(F.element_at(off, at), F.element_at(off, at + 1))
    )
    total = F.aggregate(largest, F.lit(0.0), lambda sum_, each: sum_ + F.coalesce(each, F.lit(0.0)))
    most = total + F.when(total > 0, ULPS * F.abs(after)).otherwise(0.0)
    return F.when(most < float("inf"), most)
