"""Ranges of sessions: what they need and what a record touches, against sessions made by hand."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given, strategies as st

from spark_jobs.errors import RangeUnsupported
from spark_jobs.repair.unit.range_unit import SessionUnit
from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Ranges, Session, Transform, Tumbling
from spark_jobs.spec.analysis.ranged import Ranged, ranged, unranged
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.spans import MICROSECOND, Span
from tests.harness.refused import fails

ORIGIN = datetime(2013, 2, 1, tzinfo=UTC)
GAP = timedelta(minutes=10)
LONGEST = timedelta(hours=1)
times = st.lists(st.sampled_from((1, 5, 10, 10, 11, 30)), min_size=1, max_size=30).map(
    lambda steps: [ORIGIN + timedelta(minutes=n) for n in accumulate(steps)]
)
cuts = st.integers(0, 60).map(lambda n: ORIGIN + n * timedelta(minutes=5))
Made = tuple[datetime, datetime]
"""Start and end of a session."""


def sessions(*steps: object, **fields: object) -> Pipeline:
    base = {
        "name": "sessions",
        "about": "a test",
        "topic": FLIGHTS,
        "watermark_delay": "2 hours",
        "steps": steps or (ONCE, counts()),
        "ranges": Ranges(context=LONGEST),
    }
    return Pipeline.model_validate(base | fields, strict=False)


def counts(window: Session | Tumbling | None = None, **more: str) -> Aggregate:
    return Aggregate(
        window=window or Session(gap=GAP),
        keys=("origin",),
        measures={"rows_seen": "count(*)"},
        **more,
    )


ONCE = Deduplicate(keys=("event_id",), scope="watermark")


def way(window: Session | None = None) -> Ranged:
    return ranged(sessions(ONCE, counts(window)))


def by_hand(events: list[datetime]) -> list[Made]:
    """The sessions of one key. One that ends where another begins is joined with it."""
    found: list[Made] = []
    for at in sorted(events):
        if found and at <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], at + GAP)
        else:
            found.append((at, at + GAP))
    return found


def holds(span: Span, at: datetime) -> bool:
    return span.start <= at < span.end


def longest_of(made: list[Made]) -> timedelta:
    return max(end - start for start, end in made)


@given(times, cuts, cuts)
@example(
    [ORIGIN + timedelta(minutes=at) for at in range(55, 120, 10)],  # 70 minutes, of 60 allowed
    ORIGIN + timedelta(minutes=120),
    ORIGIN + timedelta(minutes=150),
)
def test_what_a_range_needs_gives_its_sessions_or_shows_that_one_is_too_long(events, one, other):
    span = Span(min(one, other), max(one, other))
    needed = Aggregate.needed(counts(), span, timedelta(), Ranges(context=LONGEST), "flights")
    read = by_hand([at for at in events if holds(needed, at)])
    seen = [each for each in read if each[1] > span.start and each[0] <= span.end]
    if all(end - start <= LONGEST for start, end in seen):
        whole = [each for each in by_hand(events) if each[1] > span.start and each[0] <= span.end]
        assert seen == whole


@given(times, st.sets(st.integers(0, 14)))
def test_a_late_record_touches_its_session_and_all_that_this_one_replaces(events, late):
    made = by_hand(events)
    live = (
        by_hand(on_time) if (on_time := [t for n, t in enumerate(events) if n not in late]) else []
    )
    if longest_of(made) > LONGEST:
        return
    for at in (events[n] for n in late if n < len(events)):
        touched = way().touched(at, ORIGIN)
        start, end = next(each for each in made if each[0] <= at < each[1])
        assert holds(touched, end - MICROSECOND)
        beside = [each for each in live if each[0] <= at + GAP and each[1] >= at]
        assert all(holds(touched, each[1] - MICROSECOND) for each in beside)
        parts = [each for each in live if start <= each[0] and each[1] <= end]
        reach = SessionUnit(way().spec).around([Span(end - MICROSECOND, end)])
        assert all(any(holds(span, each[1] - MICROSECOND) for span in reach) for each in parts)


@given(cuts)
def test_a_record_is_settled_when_all_sessions_that_it_may_be_in_are_computed(at):
    touched = way().touched(at)
    assert way().rows_of(touched) == touched
    assert touched.end == at + LONGEST


def test_a_gap_of_its_own_is_taken_for_as_long_as_a_session():
    own = Session(gap_sql="CASE WHEN origin = 'EWR' THEN '5 minutes' ELSE '20 minutes' END")
    span, ranges = Span(ORIGIN, ORIGIN + GAP), Ranges(context=LONGEST)
    fixed, free = (
        counts(each).needed(span, timedelta(), ranges, "flights")
        for each in (Session(gap=GAP), own)
    )
    assert fixed == span.widened(LONGEST + GAP + MICROSECOND, LONGEST + GAP + MICROSECOND)
    assert free == span.widened(2 * LONGEST + MICROSECOND, 2 * LONGEST + MICROSECOND)


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        (sessions(ranges=Ranges()), r"declare ranges=Ranges(context=...)"),
        (sessions(ranges=Ranges(context="9 minutes")), "shorter than the gap of 10 minutes"),
        (sessions(ranges=Ranges(context="1 hour", by="rows_seen")), "placed by its end"),
        (sessions(ONCE, counts(), Transform(where="rows_seen > 1")), "behind its sessions"),
        (sessions(ONCE, counts(Tumbling(size="1 hour"), event_time="hour"), counts()), "not of records"),
        (sessions(counts(), output_mode="complete", state={"budget_rows": 9}), "complete mode"),
    ],
)  # fmt: skip
def test_sessions_that_have_no_ranges_are_refused_with_the_reason(pipeline, why):
    assert why in (unranged(pipeline) or "")
    with fails(RangeUnsupported, "not_by_itself"):
        ranged(pipeline)


@given(st.lists(cuts, min_size=2, max_size=4, unique=True).map(sorted))
def test_days_of_sessions_are_replaced_up_to_the_same_ends(edges):
    parts = [Span(*pair) for pair in pairwise(edges)]
    [whole] = SessionUnit(way().spec).around(parts)
    assert whole == Span(edges[0] - LONGEST, edges[-1])
