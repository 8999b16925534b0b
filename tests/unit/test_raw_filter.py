"""The raw filter: which records' bytes come back from a worker, and how many."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as st

from spark_jobs.decode.raw_filter import BUDGET, OVERHEAD, CapturePolicy, RawFilter
from spark_jobs.spec import Field, Topic
from tests.unit.decoding import of_headers

AHEAD = timedelta(minutes=10)
TOPIC = Topic(
    name="t", event_time="at", fields=(Field(name="at", type="timestamp"),), max_ahead=AHEAD
)
SENT = datetime(2026, 1, 1, tzinfo=UTC)
WATERMARK = SENT - timedelta(hours=1)
CLOCK_MS = int((SENT + timedelta(days=1)).timestamp()) * 1000
MALFORMED = None
TIMES = (
    st.none()
    | st.datetimes(timezones=st.just(UTC))
    | st.sampled_from(
        [
            SENT + AHEAD,
            SENT + AHEAD + timedelta.resolution,
            WATERMARK,
            WATERMARK + timedelta.resolution,
        ]
    )
)


def kafka(
    keys: list[bytes | None], values: list[bytes | None], headers: list[Any] | None = None
) -> pa.StructArray:
    raw = pa.StructArray.from_arrays(
        [
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
            of_headers(headers or [None] * len(keys)),
        ],
        names=["key", "value", "headers"],
    )
    numbers = range(len(keys))
    times = pa.array([SENT] * len(keys), pa.timestamp("us", "UTC"))
    parts = [pa.array([0] * len(keys), pa.int32()), pa.array(numbers, pa.int64()), times, raw]
    return pa.StructArray.from_arrays(parts, names=["partition", "offset", "timestamp", "raw"])


def captured(
    times: list[datetime | None],
    values: list[bytes | None] | None = None,
    task: RawFilter | None = None,
) -> list[Any]:
    """What is left of raw."""
    task = task or RawFilter(
        TOPIC, CapturePolicy(int(WATERMARK.timestamp()) * 1000, BUDGET, CLOCK_MS)
    )
    given_ = kafka([b"key"] * len(times), values or [b"value"] * len(times))
    made = task.apply(given_, {"at": pa.array(times, pa.timestamp("us", "UTC"))})
    assert made.type == given_.type
    assert [made.field(name).to_pylist() for name in ("partition", "offset")] == [
        given_.field(name).to_pylist() for name in ("partition", "offset")
    ]
    return list(made.field("raw").to_pylist())


@given(st.lists(TIMES))
def test_it_lets_through_what_is_malformed_premature_or_not_after_the_watermark(times):
    kept = {"key": b"key", "value": b"value", "headers": None}
    assert captured(times) == [
        kept if at is MALFORMED or at > SENT + AHEAD or at <= WATERMARK else None for at in times
    ]


@given(st.lists(TIMES), st.integers(-3, 3))
def test_it_lets_through_what_is_ahead_of_the_batchs_clock_though_kafka_is_too(times, hours):
    clock = SENT + timedelta(hours=hours)
    task = RawFilter(TOPIC, CapturePolicy(0, BUDGET, int(clock.timestamp()) * 1000))
    kept = [raw is not None for raw in captured(times, task=task)]
    assert kept == [
        at is MALFORMED or at > min(SENT, clock) + AHEAD or at <= datetime(1970, 1, 1, tzinfo=UTC)
        for at in times
    ]


def test_without_a_kafka_timestamp_only_the_batchs_clock_tells_what_is_premature():
    """Each record of a producer that stamps microseconds is such a one: their bytes would fill the
    budget.
    """
    clock = datetime.fromtimestamp(CLOCK_MS / 1000, UTC)
    given_ = kafka([b"key"] * 3, [b"value"] * 3)
    times = pa.array([None] * 3, pa.timestamp("us", "UTC"))
    parts = [
        times if field.name == "timestamp" else given_.field(field.name) for field in given_.type
    ]
    undated = pa.StructArray.from_arrays(parts, fields=list(given_.type))
    events = [clock, clock + AHEAD + timedelta(seconds=1), MALFORMED]
    task = RawFilter(TOPIC, CapturePolicy(0, BUDGET, CLOCK_MS))
    made = task.apply(undated, {"at": pa.array(events, pa.timestamp("us", "UTC"))})
    assert [raw is not None for raw in made.field("raw").to_pylist()] == [False, True, True]


def test_a_tombstone_is_let_through_as_one():
    assert captured([MALFORMED, SENT], [None, b"value"]) == [
        {"key": b"key", "value": None, "headers": None},
        None,
    ]


def test_no_byte_of_any_other_record_is_in_what_it_returns():
    task = RawFilter(TOPIC, CapturePolicy(0, BUDGET, CLOCK_MS))
    time = pa.array([SENT], pa.timestamp("us", "UTC"))
    array = task.apply(kafka([b"key"], [b"x" * 1_000_000]), {"at": time})
    assert array.nbytes < 1000


def test_an_empty_batch_stays_empty():
    assert captured([], []) == []


def test_it_stops_where_the_tasks_budget_is_spent_also_in_a_later_batch():
    size = len(b"key" + b"value") + OVERHEAD
    task = RawFilter(TOPIC, CapturePolicy(0, 3 * size, CLOCK_MS))
    assert [raw is not None for raw in captured([MALFORMED, SENT, MALFORMED], task=task)] == [
        True,
        False,
        True,
    ]
    assert [raw is not None for raw in captured([MALFORMED, MALFORMED], task=task)] == [True, False]
    assert captured([MALFORMED], task=task) == [None]


def test_a_records_headers_come_back_with_it_and_count_as_its_bytes():
    given_ = [[("name", b"x" * 100), ("nothing", None)], None, [], [("name", b"y")]]
    size = len(b"kv") + OVERHEAD
    for spare, left in ((111, [True, True, True, False]), (116, [True, True, True, True])):
        task = RawFilter(TOPIC, CapturePolicy(0, 4 * size + spare, CLOCK_MS))
        times = pa.array([MALFORMED] * 4, pa.timestamp("us", "UTC"))
        made = task.apply(kafka([b"k"] * 4, [b"v"] * 4, given_), {"at": times}).field("raw")
        assert [raw is not None for raw in made.to_pylist()] == left
        kept = [raw and raw["headers"] for raw in made.to_pylist()]
        assert kept[:3] == of_headers(given_[:3]).to_pylist()


def test_the_partitions_share_a_batchs_budget():
    assert CapturePolicy.of(7, 4, 9) == CapturePolicy(7, BUDGET // 4, 9)
    assert CapturePolicy.of(0, 0, 9) == CapturePolicy(0, BUDGET, 9)
