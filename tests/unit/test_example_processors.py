"""The examples' processors in TwsTester, which has no processors with two key columns."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.pipelines.aircraft_tours.logic import PAUSE_MS, Tours, tours
from tests.pipelines.carrier_totals.logic import Totals
from tests.pipelines.quiet_gates.logic import Quiet

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
HOUR_MS = 3_600_000
NOON_MS = int(NOON.timestamp() * 1000)


def extracted(row: Row) -> int:
    return int(row.event_time.replace(tzinfo=UTC).timestamp() * 1000)


def event(hours: float, event_id: str) -> Row:
    return Row(event_time=(NOON + timedelta(hours=hours)).replace(tzinfo=None), event_id=event_id)


@pytest.fixture
def tour() -> TwsTester:
    return TwsTester(Tours(), timeMode="EventTime", eventTimeExtractor=extracted)


def timers(tester: TwsTester) -> list[int]:
    tester.handle.setGroupingKey("N1")
    return list(tester.handle.listTimers())


def test_times_are_cut_where_nothing_came_for_the_pause() -> None:
    assert tours([0, PAUSE_MS, 2 * PAUSE_MS + 1]) == [[0, PAUSE_MS], [2 * PAUSE_MS + 1]]
    assert tours([]) == []


def test_a_tour_has_one_timer_which_a_new_event_deletes_and_sets_anew(tour: TwsTester) -> None:
    tour.test("N1", [event(0, "a")])
    assert timers(tour) == [NOON_MS + PAUSE_MS + 1]
    tour.test("N1", [event(2, "b")])
    assert timers(tour) == [NOON_MS + 2 * HOUR_MS + PAUSE_MS + 1]


def test_an_event_that_comes_twice_is_once_in_the_map(tour: TwsTester) -> None:
    tour.test("N1", [event(0, "a"), event(0, "a")])
    assert list(tour.peekMapState("events", "N1")) == [("a",)]


def test_a_tour_that_is_over_is_written_and_leaves_the_next_one_waiting(tour: TwsTester) -> None:
    tour.test("N1", [event(0, "a"), event(1, "b"), event(9, "c")])
    [over] = tour.setWatermark(NOON_MS + 8 * HOUR_MS)
    assert (over.began_at, over.ended_at, over.events) == (NOON, NOON + timedelta(hours=1), 2)
    assert list(tour.peekMapState("events", "N1")) == [("c",)]
    assert timers(tour) == [NOON_MS + 9 * HOUR_MS + PAUSE_MS + 1]
    [last] = tour.setWatermark(NOON_MS + 16 * HOUR_MS)
    assert last.events == 1
    assert (timers(tour), dict(tour.peekMapState("events", "N1"))) == ([], {})


def test_a_key_that_was_cleared_begins_anew(tour: TwsTester) -> None:
    tour.test("N1", [event(0, "a")])
    tour.setWatermark(NOON_MS + 7 * HOUR_MS)
    tour.test("N1", [event(8, "b")])
    [over] = tour.setWatermark(NOON_MS + 15 * HOUR_MS)
    assert over.events == 1


def test_totals_go_on_from_the_state_that_they_were_given() -> None:
    tester = TwsTester(Totals(), initialStateRow=[("AA", Row(carrier="AA", events=10, miles=7))])
    assert tester.test("AA", [Row(distance_miles=5), Row(distance_miles=3)]) == [
        Row(carrier="AA", events=12, miles=15)
    ]
    assert tester.test("UA", [Row(distance_miles=1)]) == [Row(carrier="UA", events=1, miles=1)]


def test_an_alarm_is_put_off_by_each_event_and_rings_once() -> None:
    tester = TwsTester(Quiet(), timeMode="ProcessingTime")
    tester.setProcessingTime(1000)
    tester.test("JFK", [Row(x=1), Row(x=2)])
    tester.setProcessingTime(1000 + Quiet.quiet_ms // 2)
    tester.test("JFK", [Row(x=3)])
    assert tester.setProcessingTime(1000 + Quiet.quiet_ms) == []
    assert tester.setProcessingTime(1000 + 2 * Quiet.quiet_ms) == [Row(origin="JFK", events=3)]
    assert tester.setProcessingTime(1000 + 9 * Quiet.quiet_ms) == []
