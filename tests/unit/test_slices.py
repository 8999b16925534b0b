"""Slices as a task notes them, as the driver gathers them and as they are stored."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from spark_jobs.decode.schemed.registered import counted
from spark_jobs.decode.slices import (
    LEAST_OFFSETS,
    MOST_SLICES,
    NO_TIMES,
    Slice,
    SliceCounter,
    SlicePolicy,
    Times,
    summed,
)
from spark_jobs.rejected.kept_slices import stretched
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Field, Pipeline, Session, Sliding, Topic, Transform, Tumbling
from spark_jobs.spec.analysis.lateness import late_for_certain
from spark_jobs.spec.steps.step import Step
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline

AHEAD = timedelta(minutes=10)
TOPIC = Topic(
    name="t", event_time="at", fields=(Field(name="at", type="timestamp"),), max_ahead=AHEAD
)
SENT = datetime(2026, 1, 1, tzinfo=UTC)
CLOCK = SENT + timedelta(hours=3)
"""Before the batch's."""
LATE = SENT - timedelta(hours=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


class Sent(NamedTuple):
    """A record; malformed without an event time."""

    partition: int
    offset: int
    timestamp: datetime
    at: datetime | None


@st.composite
def tasks(draw: st.DrawFn) -> list[Sent]:
    """What one task reads: one partition, ascending, with gaps."""
    steps = draw(st.lists(st.integers(1, 4), min_size=1, max_size=60))
    offset, found = draw(st.integers(0, 30)), []
    for step in steps:
        offset += step
        minutes = draw(st.none() | st.integers(-300, 300))
        at = None if minutes is None else SENT + timedelta(minutes=minutes)
        sent = SENT + timedelta(minutes=draw(st.sampled_from([0, 0, 0, 290])))
        found.append(Sent(3, offset, sent, at))
    return found


def noted(records: list[Sent], cuts: list[int], offsets: int = 10) -> list[Slice]:
    """By a task that gets them in Arrow batches cut there."""
    policy = SlicePolicy(offsets, us(LATE) // 1000, us(CLOCK) // 1000)
    counter = SliceCounter(TOPIC, policy)
    times = pa.timestamp("us", "UTC")
    for first, last in pairwise(sorted({0, len(records), *(cut % len(records) for cut in cuts)})):
        part = records[first:last]
        kafka = pa.StructArray.from_arrays(
            [
                pa.array([each.partition for each in part], pa.int32()),
                pa.array([each.offset for each in part], pa.int64()),
                pa.array([each.timestamp for each in part], times),
            ],
            names=["partition", "offset", "timestamp"],
        )
        counter.add(kafka, pa.array([each.at for each in part], times))
    return sorted(counter.slices.values())


def times_of(records: list[datetime]) -> Times:
    return Times(us(min(records)), us(max(records))) if records else NO_TIMES


@given(tasks(), st.lists(st.integers(0, 60)))
def test_a_slice_has_the_times_of_its_offsets_however_the_task_gets_its_records(records, cuts):
    expected = []
    for cell in sorted({each.offset // 10 for each in records}):
        of = [each for each in records if each.offset // 10 == cell]
        good = [each.at for each in of if each.at and each.at <= each.timestamp + AHEAD]
        late = [at for at in good if at <= LATE]
        ahead = [at for at in good if at > CLOCK + AHEAD]
        rest = [at for at in good if LATE < at <= CLOCK + AHEAD]
        expected.append(
            Slice(
                3,
                of[0].offset,
                of[-1].offset,
                len(of),
                times_of(rest),
                times_of(ahead),
                len(late),
                times_of(late),
            )
        )
    assert noted(records, cuts) == expected


@given(tasks(), st.lists(st.integers(0, 60)), st.lists(st.integers(0, 60)))
def test_a_task_that_runs_again_notes_the_same(records, cuts, other):
    assert noted(records, cuts) == noted(records, other)


@given(tasks(), st.integers(-60, 400))
def test_with_the_batchs_clock_a_slice_has_all_that_is_not_premature(records, minutes):
    clock = CLOCK + timedelta(minutes=abs(minutes))
    for each in noted(records, []):
        settled = each.settled(us(clock + AHEAD))
        good = [
            sent.at
            for sent in records
            if each.first_offset <= sent.offset <= each.last_offset
            and sent.at
            and LATE < sent.at <= min(sent.timestamp, clock) + AHEAD
        ]
        assert all(settled.times.first <= us(at) <= settled.times.last for at in good)
        assert settled.times.last <= us(clock + AHEAD)
        if not good:
            assert not settled.times or settled.times.last > us(CLOCK + AHEAD)


def test_no_records_are_no_slices():
    counter = SliceCounter(TOPIC, SlicePolicy(10, None, 0))
    empty = pa.StructArray.from_arrays(
        [
            pa.array([], pa.int32()),
            pa.array([], pa.int64()),
            pa.array([], pa.timestamp("us", "UTC")),
        ],
        names=["partition", "offset", "timestamp"],
    )
    counter.add(empty, pa.array([], pa.timestamp("us", "UTC")))
    assert counter.slices == {}


def test_a_large_batch_has_larger_slices_and_not_more():
    assert SlicePolicy.of(0, None, 0).offsets == LEAST_OFFSETS
    assert SlicePolicy.of(1_000_000, None, 0).offsets == LEAST_OFFSETS
    assert SlicePolicy.of(10_000_001, None, 0).offsets == 5_001
    assert MOST_SLICES * 5_001 >= 10_000_001


@given(st.data())
def test_stored_slices_leave_no_offset_of_a_batch_out_and_change_no_time(data):
    records = data.draw(tasks())
    slices = noted(records, [])
    start = data.draw(st.integers(0, records[0].offset))
    end = data.draw(st.integers(records[-1].offset + 1, records[-1].offset + 30))
    part = Batch(7, Positions({3: start, 4: 5}), Positions({3: end, 4: 5, 6: 2}), 0, 0)
    found = stretched(slices, part, len(records))
    covered = [
        (each.partition, at)
        for each in found
        for at in range(each.first_offset, each.last_offset + 1)
    ]
    assert covered == [*((3, at) for at in range(start, end)), (6, 0), (6, 1)]
    assert [each[3:] for each in found[:-1]] == [each[3:] for each in slices]
    assert all(
        new.first_offset <= old.first_offset and old.last_offset <= new.last_offset
        for new, old in zip(found, slices, strict=False)
    )


def test_slices_that_lack_a_record_are_not_stored():
    part = Batch(7, Positions({3: 0}), Positions({3: 10}), 0, 0)
    one = Slice(3, 0, 9, 4, Times(1, 2), NO_TIMES, 0, NO_TIMES)
    assert stretched([one], part, 5) == []
    assert stretched([], part, 5) == []
    assert stretched([one], part, 4) == [one]


def with_steps(*steps: Step, **changes: object) -> Pipeline:
    return pipeline(steps=steps, **changes)


WATERMARK = us(SENT) // 1000


@pytest.mark.parametrize(
    ("spec", "behind"),
    [
        (with_steps(deduplicate()), timedelta()),
        (with_steps(Transform(where="amount > 0"), deduplicate(), aggregate()), timedelta()),
        (with_steps(aggregate(window=Tumbling(size="2 hours"))), timedelta(hours=2)),
        (with_steps(aggregate(window=Sliding(size="2 hours", slide="30 minutes"))), timedelta(minutes=30)),
        (with_steps(group_state(time_mode="event")), timedelta()),
        (with_steps(Transform(where="amount > 0")), None),
        (with_steps(Transform(sql="SELECT * FROM rows"), deduplicate()), None),
        (with_steps(aggregate(window=Tumbling(size="2 hours")), output_mode="complete", state={"budget_rows": 9}), None),
    ],
    ids=[
        "rows",
        "a condition first",
        "tumbling",
        "sliding",
        "events",
        "no state",
        "SQL first",
        "complete",
    ],
)  # fmt: skip
def test_what_is_late_for_certain(spec, behind):
    expected = None if behind is None else WATERMARK - behind // timedelta(milliseconds=1)
    assert late_for_certain(spec, WATERMARK) == expected


@given(
    st.sampled_from([Tumbling(size="1 hour"), Sliding(size="1 hour", slide="25 minutes")]),
    st.integers(0, 10**15).map(lambda number: EPOCH + timedelta(microseconds=number)),
)
def test_a_window_of_an_event_has_ended_so_long_after_it(window, at):
    slide = window.size if isinstance(window, Tumbling) else window.slide
    number = (at - EPOCH - window.size) // slide
    ends = [EPOCH + (number + more) * slide + window.size for more in range(3)]
    assert min(end for end in ends if end > at) <= at + window.first_end_after


@given(
    st.sampled_from(
        [
            Tumbling(size="1 hour"),
            Tumbling(size="7 minutes"),
            Sliding(size="1 hour", slide="25 minutes"),
            Sliding(size="1 hour", slide="20 minutes"),
            Session(gap="5 minutes"),
        ]
    ),
    st.integers(0, 10**11),
    st.integers(-(10**10), 10**10),
)
def test_a_record_is_late_if_the_first_of_its_windows_has_ended(window, watermark, ahead):
    mark = EPOCH + timedelta(days=9, microseconds=watermark)
    at = mark + timedelta(microseconds=ahead)
    if isinstance(window, Session):
        first = at + window.gap
    else:
        slide = window.size if isinstance(window, Tumbling) else window.slide
        begins = EPOCH + (at - EPOCH) // slide * slide
        ends = [begins - number * slide + window.size for number in range(9)]
        first = min(end for end in ends if end > at)
    assert (first <= mark) == (at < window.first_timely(mark))


def test_a_session_is_late_by_its_own_gap():
    assert Session(gap_sql="interval '5 minutes'").first_timely(EPOCH) is None
    assert Session(gap="5 minutes").first_end_after == timedelta(minutes=5)
    assert Session(gap_sql="interval '5 minutes'").first_end_after is None


HEADS = st.none() | st.sampled_from([b"", b"\0\0\0", b"\0\0\0\0\7rest", b"\0\0\0\1\0", b"\0\xff\xff\xff\xff", b"{}{}{}"])  # fmt: skip


@given(st.lists(st.tuples(HEADS, HEADS), min_size=1, max_size=30), st.sets(st.integers(1, 29)))
def test_the_ids_that_records_begin_with_are_counted_by_slice(records, cuts):
    begins = sorted({0, *(cut for cut in cuts if cut < len(records))})
    keys, values = zip(*records, strict=True)
    raw = pa.StructArray.from_arrays(
        [pa.array(keys, pa.binary()), pa.array(values, pa.binary())], names=["key", "value"]
    )
    wanted = []
    for first, last in pairwise([*begins, len(records)]):
        told = {b"\0\0\0\0\7": "7", b"\0\0\0\1\0": "256"}
        ids = Counter(told.get((value or b"")[:5]) for value in values[first:last])
        ids.update(f"key {told[k[:5]]}" for k in keys[first:last] if k and k[:5] in told)
        del ids[None]
        wanted.append(tuple(sorted(ids.items())))
    parts = (counted(raw, part, np.array(begins), in_header=False) for part in ("value", "key"))
    assert [summed(both) for both in zip(*parts, strict=True)] == wanted
