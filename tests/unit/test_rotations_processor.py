"""The Rotations processor in pyspark's TwsTester: its state and timers, without a session.

TwsTester does not encode state, so it cannot notice a schema that does not fit the values; it moves
no watermark by itself; and it shows rows to the processor before the batch's own watermark is in
force. tests/spark runs the processor in Spark itself.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from spark_jobs.pipelines.aircraft_rotations.logic import Rotations
from spark_jobs.registry import find as registry
from spark_jobs.spec import GroupState

START = datetime(2013, 1, 1, tzinfo=UTC)
TAILS = ("N1", "N2")


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def ms(hour: float) -> int:
    return int(at(hour).timestamp() * 1000)


def row(hour: float, origin: str = "JFK") -> Row:
    """As Spark hands it over: without a zone."""
    return Row(
        event_time=at(hour).replace(tzinfo=None),
        event_id=f"{hour:07.2f}",
        origin=origin,
        destination="LAX",
    )


def ended(outcome: str, next_from: Any, next_at: Any, minutes: Any, closed_at: datetime) -> Row:
    flown = {"departed_from": "JFK", "flew_to": "LAX", "departed_at": at(1)}
    then = {"next_from": next_from, "next_departed_at": next_at, "minutes_between": minutes}
    return Row(tail_number="N1", outcome=outcome, **flown, **then, closed_at=closed_at)


@pytest.fixture
def tester() -> TwsTester:
    return made()


def made() -> TwsTester:
    extract = lambda one: int(one.event_time.replace(tzinfo=UTC).timestamp() * 1000)  # noqa: E731
    return TwsTester(Rotations(), timeMode="EventTime", eventTimeExtractor=extract)


def timers(tester: TwsTester, tail: str) -> list[int]:
    tester.handle.setGroupingKey(tail)
    return list(tester.handle.listTimers())


def out_at(tester: TwsTester, tail: str) -> int | None:
    """When the departure that is out happened; None where none is."""
    out = tester.peekValueState("out", tail)
    return out[0] if out else None


def test_a_row_waits_in_state_and_sets_the_timer_that_judges_it(tester):
    assert tester.test("N1", [row(2), row(1)]) == []
    assert [waiting[0] for waiting in tester.peekListState("waiting", "N1")] == [ms(2), ms(1)]
    assert timers(tester, "N1") == [ms(1), ms(2)]
    assert tester.peekValueState("out", "N1") is None


def test_the_watermark_makes_a_rotation_of_two_departures(tester):
    tester.test("N1", [row(9, "EWR"), row(1)])
    assert tester.setWatermark(ms(8.9)) == []
    assert tester.setWatermark(ms(9)) == [ended("rotation", "EWR", at(9), 480, at(9))]
    assert tester.peekListState("waiting", "N1") == []
    assert timers(tester, "N1") == [ms(1 + 48), ms(9 + 48)]


def test_an_aircraft_that_does_not_come_back_goes_unseen_and_leaves_nothing_behind(tester):
    tester.test("N1", [row(1)])
    assert tester.setWatermark(ms(48.9)) == []
    assert tester.setWatermark(ms(49)) == [ended("unseen", None, None, None, at(49))]
    assert tester.peekValueState("out", "N1") is None
    assert timers(tester, "N1") == []


def test_one_jump_of_the_watermark_over_everything_closes_everything(tester):
    tester.test("N1", [row(1), row(5)])
    assert [known.outcome for known in tester.setWatermark(ms(1000))] == ["rotation", "unseen"]
    assert (tester.peekValueState("out", "N1"), timers(tester, "N1")) == (None, [])


def test_the_timer_of_a_departure_that_was_followed_says_nothing_when_it_fires(tester):
    tester.test("N1", [row(1), row(30)])
    tester.setWatermark(ms(30))
    assert tester.setWatermark(ms(49)) == []
    assert out_at(tester, "N1") == ms(30)


def test_aircraft_do_not_know_of_each_other(tester):
    tester.test("N1", [row(1)])
    tester.test("N2", [row(2)])
    assert tester.setWatermark(ms(10)) == []
    assert out_at(tester, "N1") == ms(1)
    assert out_at(tester, "N2") == ms(2)


def test_the_columns_are_those_that_the_spec_declares(tester):
    [step] = [
        step for step in registry.load("aircraft_rotations").steps if isinstance(step, GroupState)
    ]
    tester.test("N1", [row(1)])
    [unseen] = tester.setWatermark(ms(100))
    assert list(unseen.__fields__) == [field.name for field in step.output]
    assert {field.name for field in step.output if not field.required} == {
        k for k, v in unseen.asDict().items() if v is None
    }


Feed = list[tuple[dict[str, list[int]], int]]
"""For each batch: the hours of the departures of each aircraft that arrive, and the watermark after
it.
"""


@st.composite
def feeds(draw: st.DrawFn) -> Feed:
    """As Spark would let it pass: no departure that the watermark before its batch had passed, none
    of an aircraft twice.
    """
    watermarks = sorted(draw(st.sets(st.integers(1, 150), min_size=1, max_size=5)))
    feed: Feed = [({tail: [] for tail in TAILS}, watermark) for watermark in watermarks]
    for tail in TAILS:
        for hour in draw(st.sets(st.integers(1, 150), max_size=8)):
            possible = [
                index for index in range(len(feed)) if index == 0 or watermarks[index - 1] < hour
            ]
            feed[draw(st.sampled_from(possible))][0][tail].append(hour)
    return feed


def run(feed: Feed, tester: TwsTester) -> dict[str, list[Any]]:
    """What is written of each aircraft, in order."""
    written: list[Row] = []
    for arrived, watermark in feed:
        for tail, hours in arrived.items():
            written += tester.test(tail, [row(hour) for hour in hours])
        written += tester.setWatermark(ms(watermark))
    return {tail: [known for known in written if known.tail_number == tail] for tail in TAILS}


@given(feeds())
def test_any_batching_writes_the_same_rows_as_one_batch(feed):
    together = {
        tail: sorted(hour for arrived, _ in feed for hour in arrived[tail]) for tail in TAILS
    }
    assert run(feed, made()) == run([(together, feed[-1][1])], made())


@given(feeds())
def test_every_departure_is_written_once_and_no_state_or_timer_is_left(feed):
    tester = made()
    written = run([*feed, ({}, 1000)], tester)
    for tail in TAILS:
        departed = sorted(hour for arrived, _ in feed for hour in arrived[tail])
        assert [known.departed_at for known in written[tail]] == [at(hour) for hour in departed]
        state = (
            tester.peekValueState("out", tail),
            tester.peekListState("waiting", tail),
            timers(tester, tail),
        )
        assert state == (None, [], [])
