"""Which rows of the table computed sessions replace, against plain Python: hundreds of keys at once,
each with sessions and late records of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contract.errors import RangeUnsupported
from spark_jobs.contract.ranged import Ranged, ranged
from spark_jobs.contract.ranges import Ranges
from spark_jobs.contract.span import MICROSECOND, Span
from spark_jobs.contract.spec import Pipeline, State
from spark_jobs.contract.steps import Aggregate, Deduplicate
from spark_jobs.contract.windows import Session
from spark_jobs.launch.session import session
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


def compared(found: sessions.Replaced) -> list[Any]:
    paired = change(way().spec, found.live, found.computed)
    return sessions.explained(paired, found.joined).collect()


def told(rows: Iterable[Any]) -> list[Row]:
    """Rows as Spark gives them back, without those that are null."""
    return in_order(
        (row[0].replace(tzinfo=UTC), row[1].replace(tzinfo=UTC), *row[2:])
        for row in rows
        if row is not None
    )


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


@pytest.fixture(scope="module", autouse=True)
def settings_of_a_run(spark: SparkSession) -> Iterator[None]:
    """Those that a repair has, with few partitions."""
    session("sessions", State())
    yield
    spark.catalog.clearCache()


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
    assert any(not within(row) for row in goes), "none ended before the range"
    assert any(within(row) for row in live if row not in goes), "none belongs to a later session"

    rows = compared(found)
    assert told(row.after for row in rows) == in_order(come)
    assert told(row.before for row in rows) == in_order(goes)
    assert told(found.carried.collect()) == in_order(row for row in live if row not in goes)
    joined = [row for row in come if any(meet(row, each) for each in late)]
    for row in rows:
        [session] = told([row.after or row.before])
        assert row.explained == any(meet(session, each) for each in joined)
        assert row.explained or row.op is None, "only late records changed rows"


def test_a_row_that_no_record_gives_goes_and_nothing_explains_it(spark: SparkSession) -> None:
    at = SPANS[0].start
    orphan = (at, at + GAP * MINUTE, "gone", 2)
    beside = (at, at + GAP * MINUTE, "kept", 1)
    late = frame(spark, [(at, at + GAP * MINUTE, "other", 1)])
    found = sessions.replaced(
        way(), SPANS, frame(spark, [orphan, beside]), frame(spark, [beside]), late
    )
    [row] = [row for row in compared(found) if row.op]
    assert (row.op, row.explained, row.before.origin) == ("removed", False, "gone")


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


def test_a_long_session_outside_the_ranges_is_no_matter(spark: SparkSession) -> None:
    ends = SPANS[0].start
    row = (ends - 2 * LONGEST, ends, "long", 30)
    none = frame(spark, [])
    found = sessions.replaced(way(), SPANS, frame(spark, [row]), frame(spark, [row]), none)
    assert told(found.carried.collect()) == [row]
