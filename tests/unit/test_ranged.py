"""Positions, what a range needs and what a record touches, against windows made by hand."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import duckdb
import pytest
from hypothesis import given, strategies as st

from spark_jobs.errors import RangeUnsupported
from spark_jobs.registry import find as registry
from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Field,
    GroupState,
    Pipeline,
    Ranges,
    Session,
    Sliding,
    Topic,
    Transform,
    Tumbling,
)
from spark_jobs.spec.analysis.ranged import Ranged, ranged, unranged
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.numbering import PARTITIONS
from spark_jobs.values.spans import MICROSECOND, Position, Span, joined, microseconds
from tests.harness.refused import fails

ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""Of Go: what a producer sends that has set no time."""
ORIGIN, HOUR = datetime(2013, 2, 1, tzinfo=UTC), timedelta(hours=1)
times = st.integers(0, 3 * 86_400).map(lambda s: ORIGIN + timedelta(seconds=s)) | st.integers(
    0, 10**7
).map(lambda us: ORIGIN + timedelta(microseconds=us))
spans = st.tuples(times, times).map(lambda pair: Span(min(pair), max(pair)))
windows = st.sampled_from(
    [
        Tumbling(size="1 hour"),
        Tumbling(size="7 minutes"),
        Tumbling(size="1 day"),
        Sliding(size="1 hour", slide="20 minutes"),
        Sliding(size="50 minutes", slide="20 minutes"),
    ]
)


def spec(*steps: Aggregate | Deduplicate | GroupState | Transform, **fields: object) -> Pipeline:
    base = {"name": "ranged", "about": "a test", "topic": FLIGHTS, "watermark_delay": "2 hours"}
    given = base | {"steps": steps} | fields
    return Pipeline.model_validate(
        {name: value for name, value in given.items() if value is not None}, strict=False
    )


def counts(window: Tumbling | Sliding | Session | None, **more: str) -> Aggregate:
    return Aggregate(window=window, measures={"rows_seen": "count(*)"}, **more)


def made_by_hand(window: Tumbling | Sliding, at: datetime) -> set[datetime]:
    """The ends of all windows that contain the time."""
    slide = window.slide if isinstance(window, Sliding) else window.size
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    number = (at - epoch) // slide
    starts = [epoch + n * slide for n in range(number - 100, number + 2)]
    return {start + window.size for start in starts if start <= at < start + window.size}


def holds(span: Span, at: datetime) -> bool:
    return span.start <= at < span.end


@given(windows, times, spans)
def test_a_range_needs_an_event_exactly_if_one_of_its_windows_ends_within(window, at, span):
    needed = ranged(spec(counts(window))).needed(span)
    ends_within = any(holds(span, end - MICROSECOND) for end in made_by_hand(window, at))
    assert ends_within <= holds(needed, at)
    if isinstance(window, Tumbling):
        assert ends_within == holds(needed, at)


@given(windows, times)
def test_an_event_touches_exactly_the_windows_that_contain_it(window, at):
    touched = ranged(spec(counts(window))).touched(at)
    ends = made_by_hand(window, at)
    around = {
        end
        for hours in range(-30, 30)
        for end in made_by_hand(window, at + timedelta(minutes=hours * 7))
    }
    assert {end for end in ends | around if holds(touched, end - MICROSECOND)} == ends


@given(times, spans)
def test_what_a_record_touches_needs_that_record(at, span):
    chain = ranged(
        spec(
            Deduplicate(keys=("event_id",)),
            counts(Tumbling(size="1 hour"), event_time="hour_end"),
            counts(Tumbling(size="1 day")),
        )
    )
    if not (hit := chain.touched(at).within(span)).empty and hit == chain.touched(at):
        assert holds(chain.needed(span), at)


def test_a_late_record_lacks_only_in_the_sliding_windows_that_had_ended():
    sliding = ranged(spec(counts(Sliding(size="1 hour", slide="20 minutes"))))
    at = ORIGIN + timedelta(minutes=30)
    missed = ORIGIN + timedelta(minutes=65)
    assert sliding.touched(at, missed).end == missed
    assert sliding.touched(at).end == ORIGIN + timedelta(minutes=80)


def test_a_group_state_reaches_as_far_as_it_declares():
    rotations = ranged(registry.load("aircraft_rotations"))
    day = Span(ORIGIN, ORIGIN + timedelta(days=1))
    assert rotations.position == Position("closed_at")
    assert rotations.needed(day) == day.widened(timedelta(hours=50), timedelta(hours=2))
    assert rotations.touched(ORIGIN).end == ORIGIN + timedelta(hours=48) + MICROSECOND


def test_a_window_is_closed_when_its_end_is_at_the_watermark_and_a_row_when_it_is_late():
    assert ranged(spec(counts(Tumbling(size="1 hour")))).closed_until(ORIGIN) == ORIGIN
    rows = ranged(spec(Deduplicate(keys=("event_id",))))
    assert rows.closed_until(ORIGIN) == ORIGIN + MICROSECOND
    assert rows.closed_until(None) is None


STATE = GroupState(
    processor="Seen", keys=("origin",), output=(Field(name="origin", type="string"),)
)


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        (spec(Deduplicate(keys=("event_id",)), counts(Session(gap="1 hour"))), "context"),
        (spec(STATE), "context"),
        (spec(STATE.model_copy(update={"initial_state": "totals_of_last_year"}), ranges=Ranges(by="origin", context="1 hour")), "'totals_of_last_year', its initial_state"),
        (spec(Transform(sql="SELECT * FROM rows"), Deduplicate(keys=("event_id",))), "a Transform with sql or a function before the first stateful step"),
        (spec(STATE.model_copy(update={"time_mode": "none"}), state={"budget_rows": 9}), "none"),
        (spec(Deduplicate(keys=("event_id",), scope="for_ever"), state={"budget_rows": 9}), "for_ever"),
        (spec(counts(None), output_mode="update", state={"budget_rows": 9}), "without a window"),
        (spec(counts(Tumbling(size="1 hour")), output_mode="complete", state={"budget_rows": 9}), "complete mode"),
        (spec(STATE, output_mode="update", ranges=Ranges(by="origin", context="1 hour")), "update mode"),
    ],
)  # fmt: skip
def test_what_no_range_can_be_computed_of_is_refused_with_the_reason(pipeline, why):
    assert why in (unranged(pipeline) or "")
    with fails(RangeUnsupported, "not_by_itself", pipeline="ranged"):
        ranged(pipeline)


@given(st.lists(spans, max_size=20), st.integers(1, 5), times)
def test_joined_spans_hold_every_time_are_sorted_and_are_few(given_spans, most, at):
    found = joined(given_spans, most)
    assert len(found) <= most
    assert all(left.end < right.start for left, right in pairwise(found))
    assert any(holds(span, at) for span in given_spans) <= any(holds(span, at) for span in found)
    if len(joined(given_spans, 99)) <= most:
        assert any(holds(s, at) for s in given_spans) == any(holds(s, at) for s in found)


def test_the_condition_of_several_spans_is_plain_text_for_delta():
    two = [Span(ORIGIN, ORIGIN + timedelta(hours=1)), Span(ORIGIN, ORIGIN + MICROSECOND)]
    assert Position("at").sql(two) == (
        "(`at` >= '2013-02-01T00:00:00Z' AND `at` < '2013-02-01T01:00:00Z') OR "
        "(`at` >= '2013-02-01T00:00:00Z' AND `at` < '2013-02-01T00:00:00.000001Z')"
    )


@given(windows, times)
def test_the_rows_that_a_record_touches_begin_at_its_first_windows_last_instant(window, at):
    way, ends = ranged(spec(counts(window))), made_by_hand(window, at)
    assert way.rows_of(way.touched(at)) == Span(min(ends) - MICROSECOND, max(ends))
    row = Span(at, at + MICROSECOND)
    assert ranged(spec(Deduplicate(keys=("event_id",)))).rows_of(row) == row


@pytest.mark.parametrize(
    "steps",
    [
        [Deduplicate(keys=("event_id",))],
        [counts(Tumbling(size="1 hour"))],
        [counts(Sliding(size="50 minutes", slide="20 minutes"))],
    ],
)
@pytest.mark.parametrize("at", [ZERO_TIME, datetime.max.replace(tzinfo=UTC)])
def test_a_record_at_the_end_of_time_is_in_no_range_and_stops_no_repair(steps, at):
    way = ranged(spec(*steps))
    assert way.touched(at, ORIGIN).empty
    assert joined([way.touched(at), way.touched(ORIGIN)]) == (way.touched(ORIGIN),)


ORDER = {"order": "string", "at": "timestamp"}


def test_each_input_that_a_step_takes_apart_needs_and_touches_its_own_times():
    from tests.seams.test_two_inputs import Paid  # noqa: PLC0415 - it imports Spark

    topics = [
        Topic(
            name=name,
            event_time="at",
            fields=tuple(
                Field(name=each, type=of) for each, of in (ORDER | {own: "bigint"}).items()
            ),
        )
        for name, own in (("orders", "amount"), ("payments", "paid"))
    ]
    of_two = spec(Paid(orders="orders", payments="payments"), topic=None, topics=topics)
    way = Ranged(of_two, Position("at"))
    day = Span(ORIGIN, ORIGIN + HOUR)
    assert way.apart([day]) == {0: (day,), 1: (Span(ORIGIN, ORIGIN + HOUR * 2),)}
    assert way.needed(day) == Span(ORIGIN, ORIGIN + HOUR * 2)
    sql, micros = way.touched_sql("t", "missed"), microseconds(ORIGIN)
    touched = {
        0: Span(ORIGIN, ORIGIN + MICROSECOND),
        PARTITIONS: Span(ORIGIN - HOUR, ORIGIN + MICROSECOND),
    }
    for partition, wanted in touched.items():
        assert way.touched(ORIGIN, partition=partition) == wanted
        given = f'SELECT {micros} AS t, NULL::BIGINT AS missed, {partition} AS "partition"'
        [found] = duckdb.sql(f"SELECT {sql.start}, {sql.end} FROM ({given})").fetchall()
        assert found == tuple(map(microseconds, wanted))
    assert way.touched(ORIGIN) == touched[PARTITIONS]
