"""Session rows: whole sessions, and which rows of the table they replace, by key.

A late record can lengthen a session and join it with others, which may have ended in another range.
So a range is one of whole sessions, as they were computed: those that end in it. They replace all
rows of their keys that are parts of them. Every other row stays, also one that ends in the range
and is a part of a session that ends behind it: the range of that one replaces it.

Records can leave a session when the spec is corrected. Then a row of the table may be wider than
what is computed of it. One range must have such a row and all that it overlaps, or it is refused.
"""

from __future__ import annotations

from datetime import UTC, timedelta
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window, functions as F

from spark_jobs.errors import RangeUnsupported
from spark_jobs.repair.compute.change import change
from spark_jobs.repair.compute.judging import Compared, Computed
from spark_jobs.repair.unit.range_rows import RangeRows
from spark_jobs.spec.duration import interval
from spark_jobs.values.own_columns import own
from spark_jobs.values.spans import MICROSECOND, Span, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spark_jobs.spec.analysis.ranged import Ranged

BOUNDS = ["window_start", "window_end"]
_ROW, _AT, _IN, _LAST, _TAKING, _GOES, _ENDS = (
    own(name) for name in ("row", "at", "in", "last", "taking", "goes", "ends")
)
_LATE = own("late_")


class Replaced(NamedTuple):
    """Rows of the table, and what takes their place."""

    live: DataFrame
    """The table's rows that go."""
    computed: DataFrame
    """The sessions of the ranges."""
    carried: DataFrame
    """The table's other rows among those that were given. One that ends in the ranges is a part of
    a session that ends outside of them.
    """
    joined: DataFrame
    """Keys, window_start and window_end of the sessions that have a late record, and of rows that
    had an excised one.
    """


class SessionRows(RangeRows):
    """Of all computed sessions those that end in the ranges come. What goes is found by its key."""

    def compare(self, computed: Computed) -> Compared:
        assert computed.explaining is not None
        spans, way = self.plan.spans, self.way
        live = self.judging.table().where(beside(way, spans))
        parted = self._has_excised
        found = replaced(way, spans, live, computed.rows, computed.explaining, parted=parted)
        paired = change(way.spec, found.live, found.computed)
        return Compared(explained(paired, found.joined), found.carried)

    def _placed(self, rows: DataFrame) -> DataFrame:
        return rows


def beside(way: Ranged, spans: Iterable[Span]) -> Column:
    """The table's rows that the sessions of these ranges may replace by where they end, and all
    others that one of these may overlap, wherever they end.
    """
    longest = way.spec.ranges.context
    assert longest is not None
    wider = [span.widened(longest, timedelta()) for span in spans]
    return F.expr(way.position.sql(joined(wider))) | _overlap(wider)


def replaced(
    way: Ranged,
    spans: Sequence[Span],
    live: DataFrame,
    computed: DataFrame,
    late: DataFrame,
    *,
    parted: bool = False,
) -> Replaced:
    """`live` are the table's rows of `beside`, `computed` all sessions of what was read, `late` the
    sessions of the late records alone. `parted`: those are of excised ones too, without which the
    table's rows fall apart.

    Raises RangeUnsupported if a session that overlaps a span is longer than ranges.context: then
    what was read is not enough. Also if a row of the table is wider than the session that it
    overlaps, and the ranges do not cover both. Spark runs the whole computation here.
    """
    keys, longest = way.spec.steps[-1].grouping_keys or (), way.spec.ranges.context
    assert longest is not None
    within = F.expr(way.position.sql(spans))
    computed = computed.persist(StorageLevel.MEMORY_AND_DISK)
    _refuse_longer(way.spec.name, spans, live.where(within), computed, longest)
    marked = _marked(live, computed, within, spans, keys)
    marked = marked.persist(StorageLevel.MEMORY_AND_DISK)
    _refuse_wider(way.spec.name, spans, marked.where(F.col(_GOES).isNull()))
    whole = computed.select(*keys, *BOUNDS)
    if parted:
        whole = _together(whole.unionByName(live.select(*keys, *BOUNDS)), keys)
    return Replaced(
        marked.where(_GOES).select(*live.columns),
        computed.where(within),
        marked.where(f"NOT {_GOES}").select(*live.columns),
        _with_late(whole, late, keys),
    )


def explained(paired: DataFrame, joined: DataFrame) -> DataFrame:
    """`paired` with explained boolean: whether the row is a session with a late record, or a part
    of one.
    """
    row = F.coalesce("after", "before")
    keys = [name for name in joined.columns if name not in BOUNDS]
    part = _all(
        (
            *(row[name].eqNullSafe(F.col(_late(name))) for name in keys),
            row["window_start"] >= F.col(_late("window_start")),
            row["window_end"] <= F.col(_late("window_end")),
        )
    )
    known = _renamed(joined).withColumn("explained", F.lit(True))
    found = paired.join(F.broadcast(known), part, "left_outer")
    told = F.coalesce("explained", F.lit(False)).alias("explained")
    return found.select("before", "after", "op", told)


def _together(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Those of a key that overlap, as one."""
    order = Window.partitionBy(*keys).orderBy("window_start", "window_end")
    before = F.max("window_end").over(order.rowsBetween(Window.unboundedPreceding, -1))
    begins = (before.isNull() | (F.col("window_start") >= before)).cast("int")
    numbered = rows.withColumn(_ROW, begins).withColumn(_ROW, F.sum(_ROW).over(order))
    ends = (F.min("window_start").alias(BOUNDS[0]), F.max("window_end").alias(BOUNDS[1]))
    return numbered.groupBy(*keys, _ROW).agg(*ends).select(*keys, *BOUNDS)


def _marked(
    live: DataFrame, computed: DataFrame, within: Column, spans: Sequence[Span], keys: Sequence[str]
) -> DataFrame:
    """The table's rows with _GOES boolean, null for one that must not be parted, and _ENDS, the end
    of the last session that it overlaps, or its own.

    Computed sessions of a key do not touch each other: if a row overlaps any, it overlaps the last
    one that begins before its end, and if it is a part of one, of that one. A row that overlaps
    none is in the table for no reason that its records give. One that is neither is wider than what
    its records give: it goes if one span has it and all that it overlaps.
    """
    start, end = F.col("window_start"), F.col("window_end")
    both = live.select(
        *keys, *BOUNDS, within.alias(_IN), end.alias(_AT), F.struct(*live.columns).alias(_ROW)
    ).unionByName(
        computed.select(*keys, *BOUNDS, within.alias(_IN), start.alias(_AT)),
        allowMissingColumns=True,
    )
    session = F.col(_ROW).isNull()
    # A session that begins where a row ends has none of its records: the row comes first.
    order = Window.partitionBy(*keys).orderBy(_AT, session)
    for name, such in ((_LAST, session), (_TAKING, session & F.col(_IN))):
        found = F.last(F.when(such, F.struct(*BOUNDS, _IN)), ignorenulls=True)
        both = both.withColumn(name, found.over(order))
    meets, taking = (
        F.coalesce(F.col(f"{name}.window_end") > start, F.lit(False)) for name in (_LAST, _TAKING)
    )
    part = meets & (F.col(f"{_LAST}.window_start") <= start) & (F.col(f"{_LAST}.window_end") >= end)
    ends = F.when(meets, F.greatest(end, F.col(f"{_LAST}.window_end"))).otherwise(end)
    covered = _any((start >= F.lit(span.start)) & (ends <= F.lit(span.end)) for span in spans)
    wider = F.when(covered, F.lit(True)).when(~F.col(_IN) & ~taking, F.lit(False))
    goes = F.when(part, F.col(f"{_LAST}.{_IN}")).when(meets, wider).otherwise(F.col(_IN))
    rows = both.where(~session)
    return rows.select(f"{_ROW}.*", goes.alias(_GOES), ends.alias(_ENDS))


def _refuse_wider(name: str, spans: Sequence[Span], rows: DataFrame) -> None:
    hour = F.date_trunc("hour", "window_start")
    wide = rows.groupBy(hour.alias("begin")).agg(F.max(_ENDS).alias("end"), F.count("*").alias("n"))
    found = wide.orderBy("begin").collect()
    if not found:
        return
    needed = [Span(*(row[at].replace(tzinfo=UTC) for at in ("begin", "end"))) for row in found]
    whole = next(each for each in joined([*spans, *needed]) if each.overlaps(needed[0]))
    start, end = (at.isoformat().replace("+00:00", "Z") for at in whole)
    raise RangeUnsupported.session_wider(
        pipeline=name, rows=sum(row["n"] for row in found), needed=needed[0], start=start, end=end
    )


def _refuse_longer(
    name: str, spans: Sequence[Span], live: DataFrame, computed: DataFrame, longest: timedelta
) -> None:
    sessions = computed.where(_overlap(spans)).select(*BOUNDS).unionByName(live.select(*BOUNDS))
    length = F.unix_micros("window_end") - F.unix_micros("window_start")
    row = sessions.where(length > longest // MICROSECOND).orderBy("window_start").first()
    if row is not None:
        raise RangeUnsupported.session_beyond_context(
            pipeline=name,
            start=row["window_start"],
            end=row["window_end"],
            longest=interval(longest),
        )


def _overlap(spans: Iterable[Span]) -> Column:
    return _any(
        (F.col("window_end") > F.lit(span.start)) & (F.col("window_start") <= F.lit(span.end))
        for span in spans
    )


def _with_late(sessions: DataFrame, late: DataFrame, keys: Sequence[str]) -> DataFrame:
    touching = _all(
        (
            *(F.col(name).eqNullSafe(F.col(_late(name))) for name in keys),
            F.col("window_start") <= F.col(_late("window_end")),
            F.col("window_end") >= F.col(_late("window_start")),
        )
    )
    return sessions.join(F.broadcast(_renamed(late)), touching, "left_semi")


def _renamed(rows: DataFrame) -> DataFrame:
    return rows.select(*(F.col(name).alias(f"{_LATE}{name}") for name in rows.columns))


def _late(name: str) -> str:
    return f"`{_LATE}{name}`"


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one & other, conditions)


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one | other, conditions)
