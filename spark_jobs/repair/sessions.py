"""Sessions: which rows of the table the computed sessions replace, by key.

A late record can lengthen a session and join it with others, which may have ended in another range.
So a range is one of whole sessions, as they were computed: those that end in it. They replace all
rows of their keys that overlap them. Every other row stays, also one that ends in the range and is
a part of a session that ends behind it: the range of that one replaces it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.errors import RangeUnsupported
from spark_jobs.contract.span import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from spark_jobs.contract.ranged import Ranged
    from spark_jobs.contract.span import Span

BOUNDS = ["window_start", "window_end"]


class Replaced(NamedTuple):
    """Rows of the table, and what takes their place."""

    live: DataFrame
    """The table's rows that go."""
    computed: DataFrame
    """The sessions of the ranges."""
    carried: DataFrame
    """The table's other rows among those that were given."""
    joined: DataFrame
    """Keys, window_start and window_end of the sessions that have a late record."""


def replaced(
    way: Ranged, spans: Sequence[Span], live: DataFrame, computed: DataFrame, late: DataFrame
) -> Replaced:
    """`live` are the table's rows at Ranged.replaced(spans), `computed` all sessions of what was
    read, `late` those of the late records alone.

    Raises RangeUnsupported if one that overlaps a span is longer than ranges.context: then what
    was read is not enough. Spark runs the whole computation here.
    """
    step, longest = way.sessions, way.spec.ranges.context
    assert step is not None
    assert longest is not None
    within = F.expr(way.position.sql(spans))
    computed = computed.persist(StorageLevel.MEMORY_AND_DISK)
    _refuse_longer(way.spec.name, spans, live.where(within), computed, longest)
    marked = _marked(live, computed, within, step.keys).persist(StorageLevel.MEMORY_AND_DISK)
    return Replaced(
        marked.where("_goes").select(*live.columns),
        computed.where(within),
        marked.where("NOT _goes").select(*live.columns),
        _with_late(computed.select(*step.keys, *BOUNDS), late, step.keys),
    )


def explained(paired: DataFrame, joined: DataFrame) -> DataFrame:
    """`paired` with explained boolean: whether the row is a session with a late record, or a part
    of one.
    """
    row = F.coalesce("after", "before")
    keys = [name for name in joined.columns if name not in BOUNDS]
    part = _all(
        (
            *(row[name].eqNullSafe(F.col(f"late_{name}")) for name in keys),
            row["window_start"] >= F.col("late_window_start"),
            row["window_end"] <= F.col("late_window_end"),
        )
    )
    known = _renamed(joined).withColumn("explained", F.lit(True))
    found = paired.join(F.broadcast(known), part, "left_outer")
    told = F.coalesce("explained", F.lit(False)).alias("explained")
    return found.select("before", "after", "op", told)


def _marked(live: DataFrame, computed: DataFrame, within: Column, keys: Sequence[str]) -> DataFrame:
    """The table's rows with _goes boolean.

    Computed sessions of a key do not touch each other, so a row can only overlap the last one that
    begins before it, and the first that begins behind that. One that overlaps no computed session
    is in the table for no reason that its records give.
    """
    session = F.when(F.col("_row").isNull(), F.struct(*BOUNDS, "_within"))
    both = live.select(
        *BOUNDS, *keys, F.struct(*live.columns).alias("_row"), within.alias("_within")
    ).unionByName(
        computed.select(*BOUNDS, *keys, within.alias("_within")), allowMissingColumns=True
    )
    order = Window.partitionBy(*keys).orderBy("window_start", F.col("_row").isNotNull())
    last = F.last(session, ignorenulls=True).over(order)
    following = order.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    first = F.first(session, ignorenulls=True).over(following)
    both = both.withColumn("_last", last).withColumn("_first", first).where("_row IS NOT NULL")
    into_last = F.coalesce(F.col("_last.window_end") >= F.col("window_start"), F.lit(False))
    into_first = F.coalesce(F.col("_first.window_start") <= F.col("window_end"), F.lit(False))
    goes = (
        (into_last & F.col("_last._within"))
        | (into_first & F.col("_first._within"))
        | (~into_last & ~into_first & F.col("_within"))
    )
    return both.select("_row.*", F.coalesce(goes, F.lit(False)).alias("_goes"))


def _refuse_longer(
    name: str, spans: Sequence[Span], live: DataFrame, computed: DataFrame, longest: timedelta
) -> None:
    sessions = computed.where(_overlap(spans)).select(*BOUNDS).unionByName(live.select(*BOUNDS))
    length = F.unix_micros("window_end") - F.unix_micros("window_start")
    row = sessions.where(length > longest // MICROSECOND).orderBy("window_start").first()
    if row is not None:
        raise RangeUnsupported(
            f"{name}: a session goes on from {row['window_start']:%F %H:%M:%S} to "
            f"{row['window_end']:%F %H:%M:%S} at least, and ranges.context says that none is "
            f"longer than {interval(longest)}: its records may be beyond those that were read.",
            "Declare a longer ranges.context, which changes no state, and plan it again.",
        )


def _overlap(spans: Iterable[Span]) -> Column:
    return reduce(
        lambda one, other: one | other,
        (
            (F.col("window_end") > F.lit(span.start)) & (F.col("window_start") <= F.lit(span.end))
            for span in spans
        ),
    )


def _with_late(sessions: DataFrame, late: DataFrame, keys: Sequence[str]) -> DataFrame:
    touching = _all(
        (
            *(F.col(name).eqNullSafe(F.col(f"late_{name}")) for name in keys),
            F.col("window_start") <= F.col("late_window_end"),
            F.col("window_end") >= F.col("late_window_start"),
        )
    )
    return sessions.join(F.broadcast(_renamed(late)), touching, "left_semi")


def _renamed(rows: DataFrame) -> DataFrame:
    return rows.select(*(F.col(name).alias(f"late_{name}") for name in rows.columns))


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one & other, conditions)
