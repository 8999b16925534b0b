"""Which rows of the table computed sessions replace, against plain Python: hundreds of keys at once,
each with sessions and late records of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.contract.errors import RangeUnsupported
from spark_jobs.contract.ranged import Ranged, ranged
from spark_jobs.contract.ranges import Ranges
from spark_jobs.contract.span import MICROSECOND, Span
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate
from spark_jobs.contract.windows import Session
from spark_jobs.repair import sessions
from spark_jobs.repair.change import change
from spark_jobs.topics.flights import FLIGHTS

ORIGIN = datetime(2013, 2, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
GAP = 10
LONGEST = timedelta(hours=3)
SPANS = (
    Span(ORIGIN + 60 * MINUTE, ORIGIN + 90 * MINUTE),
    Span(ORIGIN + 120 * MINUTE, ORIGIN + 150 * MINUTE),
)
COLUMNS = "window_start timestamp, window_end timestamp, origin string, flights bigint"
Row = tuple[Any, ...]


class Key(NamedTuple):
    """The events of a key, in minutes, and which of them were late."""

    name: str | None
    on_time: list[int]
    late: list[int]

    def rows(self, minutes: list[int]) -> list[Row]:
        """The sessions of these events."""
        found: list[list[int]] = []
        for at in sorted(minutes):
            if found and at <= found[-1][1]:
                found[-1] = [found[-1][0], at + GAP, found[-1][2] + 1]
            else:
                found.append([at, at + GAP, 1])
        return [
            (ORIGIN + a * MINUTE, ORIGIN + b * MINUTE, self.name, count) for a, b, count in found
        ]

    @property
    def live(self) -> list[Row]:
        return self.rows(self.on_time)

    @property
    def computed(self) -> list[Row]:
        return self.rows(self.on_time + self.late)


def way() -> Ranged:
    step = Aggregate(
        window=Session(gap=GAP * MINUTE), keys=("origin",), measures={"flights": "count(*)"}
    )
    return ranged(
        Pipeline(
            name="sessions",
            about="a test",
            topic=FLIGHTS,
            watermark_delay=timedelta(hours=2),
            steps=(Deduplicate(keys=("event_id",)), step),
            ranges=Ranges(context=LONGEST),
        )
    )


def keys() -> list[Key]:
    chance = Random(7)
    made = []
    for number in range(300):
        minutes = chance.sample(range(200), chance.randrange(1, 14))
        late = chance.sample(minutes, chance.randrange(min(4, len(minutes) + 1)))
        on_time = [at for at in minutes if at not in late]
        made.append(Key(f"key {number}" if number else None, on_time, late))
    return made


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(rows, COLUMNS)


def within(row: Row) -> bool:
    return any(span.start <= row[1] - MICROSECOND < span.end for span in SPANS)


def meet(one: Row, other: Row) -> bool:
    return one[2] == other[2] and one[0] <= other[1] and other[0] <= one[1]


def collected(rows: DataFrame) -> list[Row]:
    found = [tuple(row) for row in rows.collect()]
    return sorted(
        (
            tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row)
            for row in found
        ),
        key=repr,
    )


def test_the_sessions_of_a_range_replace_what_they_overlap_of_their_key_and_nothing_else(
    spark: SparkSession,
) -> None:
    made = keys()
    live = [row for key in made for row in key.live]
    computed = [row for key in made for row in key.computed]
    late = [row for key in made for row in key.rows(key.late)]
    found = sessions.replaced(
        way(), SPANS, frame(spark, live), frame(spark, computed), frame(spark, late)
    )
    come = [row for row in computed if within(row)]
    goes = [row for row in live if any(meet(row, each) for each in come)]
    assert collected(found.computed) == sorted(come, key=repr)
    assert collected(found.live) == sorted(goes, key=repr)
    assert collected(found.carried) == sorted((r for r in live if r not in goes), key=repr)
    assert any(not within(row) for row in goes), "none ended before the range"
    assert any(within(row) for row in live if row not in goes), "none belongs to a later session"

    paired = change(way().spec, found.live, found.computed)
    told = sessions.explained(paired, found.joined).where("op IS NOT NULL")
    assert told.where("NOT explained").isEmpty(), "only late records changed rows"
    same = [row for row in come if not any(meet(row, each) for each in late)]
    equal = sessions.explained(paired, found.joined).where("op IS NULL AND NOT explained")
    assert collected(equal.select("after.*")) == sorted(same, key=repr)
    spark.catalog.clearCache()


def test_a_row_that_no_record_gives_goes_and_nothing_explains_it(spark: SparkSession) -> None:
    at = SPANS[0].start
    orphan = (at, at + GAP * MINUTE, "gone", 2)
    beside = (at, at + GAP * MINUTE, "kept", 1)
    late = frame(spark, [(at, at + GAP * MINUTE, "other", 1)])
    found = sessions.replaced(
        way(), SPANS, frame(spark, [orphan, beside]), frame(spark, [beside]), late
    )
    paired = sessions.explained(change(way().spec, found.live, found.computed), found.joined)
    [row] = (
        paired.where("op IS NOT NULL").select("op", "explained", F.col("before.origin")).collect()
    )
    assert tuple(row) == ("removed", False, "gone")
    spark.catalog.clearCache()


@pytest.mark.parametrize("begins", [SPANS[0].start - 170 * MINUTE, SPANS[0].end])
@pytest.mark.parametrize("where", ["computed", "live"])
def test_a_session_that_is_longer_than_declared_is_refused_with_its_times(
    spark: SparkSession, begins: datetime, where: str
) -> None:
    ends = SPANS[0].end - MINUTE if where == "live" else begins + LONGEST + MINUTE
    row = (ends - LONGEST - MINUTE, ends, "long", 30)
    none = frame(spark, [])
    live, computed = (frame(spark, [row]), none) if where == "live" else (none, frame(spark, [row]))
    with pytest.raises(
        RangeUnsupported, match=r"ranges\.context says that none is longer than 3 hours"
    ) as raised:
        sessions.replaced(way(), SPANS, live, computed, none)
    assert f"{row[0]:%F %H:%M:%S}" in raised.value.what
    spark.catalog.clearCache()


def test_a_long_session_outside_the_ranges_is_no_matter(spark: SparkSession) -> None:
    ends = SPANS[0].start
    row = (ends - 2 * LONGEST, ends, "long", 30)
    none = frame(spark, [])
    found = sessions.replaced(way(), SPANS, frame(spark, [row]), frame(spark, [row]), none)
    assert collected(found.carried) == [row]
    spark.catalog.clearCache()
