"""Canonical deduplication against plain Python: which copy of a key is kept, and what is counted."""

import os
from collections import defaultdict
from datetime import timedelta
from typing import NamedTuple

import pytest
from hypothesis import given, settings, strategies as st
from pyspark.sql import DataFrame, Observation, SparkSession, functions as F

from spark_jobs.spec import Deduplicate
from spark_jobs.steps.canonical.deduplicate import arrival, canonical
from tests.harness.compare import assert_same
from tests.harness.moments import MICROSECOND, at, us

LONG = "SLUICE_CASES" in os.environ
CASES = int(os.environ.get("SLUICE_CASES", "3"))
DELAY = timedelta(minutes=10)
DELAY_US = DELAY // MICROSECOND
START_US = 1_357_000_000_000_000
SCHEMA = "key string, event_time timestamp, n int, kafka struct<partition int, offset bigint, timestamp timestamp, late boolean>"
USUAL = settings(max_examples=CASES, deadline=None, derandomize=not LONG, database=None)


class Copy(NamedTuple):
    """A record. `late`, `kafka_us` and `n` decide which of two copies comes first; `n` is unique."""

    key: str | None
    at_us: int
    late: bool
    kafka_us: int
    n: int

    @property
    def order(self) -> tuple[bool, int, int]:
        return (self.late, self.kafka_us, self.n)


class Kept(NamedTuple):
    """What plain Python keeps of one key."""

    copies: list[Copy]
    ambiguous: int

    @property
    def reused(self) -> bool:
        return len(self.copies) > 1 or self.ambiguous > 0


MOMENTS = st.builds(
    lambda tenths, by: max(0, tenths * DELAY_US // 10 + by),
    st.one_of(st.integers(0, 12), st.integers(0, 60), st.sampled_from((0, 10, 20, 500))),
    st.sampled_from((0, 0, 1, -1)),
)
"""Often exactly one or two delays apart, or a microsecond more or less."""
KEYS = st.lists(
    st.lists(st.tuples(MOMENTS, st.booleans(), st.integers(0, 3)), min_size=1, max_size=8),
    min_size=1,
    max_size=300 if LONG else 120,
)


def copies(keys: list[list[tuple[int, bool, int]]]) -> list[Copy]:
    """A key each; the first is null."""
    found: list[Copy] = []
    for number, one in enumerate(keys):
        key = f"k{number}" if number else None
        for moment, late, kafka_us in one:
            found.append(Copy(key, START_US + moment, late, START_US + kafka_us, len(found)))
    return found


def fold(given: list[Copy], delay_us: int = DELAY_US) -> Kept:
    """Of one key."""
    left, kept, ambiguous = sorted(given, key=lambda copy: copy.at_us), [], 0
    while left:
        earliest = left[0].at_us
        best = min(
            (copy for copy in left if copy.at_us <= earliest + delay_us),
            key=lambda copy: copy.order,
        )
        kept.append(best)
        ambiguous += sum(earliest + delay_us < copy.at_us <= best.at_us + delay_us for copy in left)
        left = [copy for copy in left if copy.at_us > best.at_us + delay_us]
        ambiguous += bool(left) and left[0].at_us <= best.at_us + 2 * delay_us
    return Kept(kept, ambiguous)


def by_key(given: list[Copy]) -> dict[str | None, list[Copy]]:
    found: dict[str | None, list[Copy]] = defaultdict(list)
    for copy in given:
        found[copy.key].append(copy)
    return found


def frame(spark: SparkSession, given: list[Copy]) -> DataFrame:
    """As records: their partition and offset say in which order they were made."""
    rows = [
        (copy.key, at(copy.at_us), copy.n, (copy.n % 3, copy.n, at(copy.kafka_us), copy.late))
        for copy in given
    ]
    return spark.createDataFrame(rows, SCHEMA)


def kept(rows: DataFrame) -> list[int]:
    return [row.n for row in rows.select("n").collect()]


pytestmark = pytest.mark.usefixtures("settings_of_a_run")


@USUAL
@given(KEYS)
def test_copies_within_the_delay_of_the_kept_one_are_dropped_and_what_batches_would_decide_is_counted(
    spark, keys
):
    given = copies(keys)
    step, counted = Deduplicate(keys=("key",)), Observation()
    rows = frame(spark, given)
    order = F.struct("kafka.late", "kafka.timestamp", "n")
    found = kept(canonical(rows, step, "event_time", DELAY, order, counted))
    wanted = [fold(of_key) for of_key in by_key(given).values()]
    assert_same(found, [copy.n for one in wanted for copy in one.copies], "what is kept")
    assert counted.get == {
        "reused_keys": sum(one.reused for one in wanted),
        "ambiguous_copies": sum(one.ambiguous for one in wanted),
    }


@settings(max_examples=500 if LONG else 100, deadline=None, derandomize=not LONG, database=None)
@given(KEYS, st.integers(0, 600), st.integers(1, 300))
def test_a_range_needs_one_delay_more_on_both_sides_if_nothing_is_ambiguous(keys, begin, length):
    """By the plain Python that the test before holds Spark against."""
    low = START_US + begin * DELAY_US // 100
    high = low + length * DELAY_US // 100
    for of_key in by_key(copies(keys)).values():
        whole = fold(of_key)
        if whole.ambiguous:
            continue
        near = fold([copy for copy in of_key if low - DELAY_US <= copy.at_us < high + DELAY_US])
        assert [copy for copy in near.copies if low <= copy.at_us < high] == [
            copy for copy in whole.copies if low <= copy.at_us < high
        ]


@USUAL
@given(KEYS)
def test_with_the_event_time_among_the_keys_or_for_ever_a_key_has_one_row(spark, keys):
    given = copies(keys)
    rows = frame(spark, given)
    order = F.struct("kafka.late", "kafka.timestamp", "n")
    once = Deduplicate(keys=("key",), scope="for_ever")
    first = [min(of_key, key=lambda copy: copy.order).n for of_key in by_key(given).values()]
    assert_same(kept(canonical(rows, once, "event_time", DELAY, order)), first, "one a key")
    timed = Deduplicate(keys=("key", "event_time"), scope="event_time")
    times: dict[tuple[str | None, int], list[Copy]] = defaultdict(list)
    for copy in given:
        times[copy.key, copy.at_us].append(copy)
    first = [min(of_time, key=lambda copy: copy.order).n for of_time in times.values()]
    assert_same(kept(canonical(rows, timed, "event_time", DELAY, order)), first, "one a time")


def test_an_accepted_copy_comes_before_a_late_one_and_then_kafkas_order_decides(spark):
    given = [
        Copy("late", START_US, late, START_US + kafka_us, n)
        for n, (late, kafka_us) in enumerate([(True, 0), (False, 9), (False, 5), (True, 1)])
    ]
    rows = frame(spark, given)
    assert kept(
        canonical(rows, Deduplicate(keys=("key",)), "event_time", DELAY, arrival(rows))
    ) == [2]
    assert kept(
        canonical(
            rows.drop("kafka").where("n = 3"),
            Deduplicate(keys=("*",)),
            "event_time",
            DELAY,
            arrival(rows.drop("kafka")),
        )
    ) == [3]


def test_the_column_kafka_is_part_of_no_key_and_stays_with_the_row_that_is_kept(spark):
    same = [Copy("a", START_US, False, START_US + kafka_us, 7) for kafka_us in (3, 1, 2)]
    rows = frame(spark, same)
    [row] = canonical(rows, Deduplicate(keys=("*",)), "event_time", DELAY, arrival(rows)).collect()
    assert us(row.kafka.timestamp.replace(tzinfo=at(0).tzinfo)) == START_US + 1
    assert row.n == 7


def test_a_key_that_comes_back_all_the_time_is_one_row_for_each_delay(spark):
    """As a heartbeat of which a pipeline wants one in ten minutes."""
    count = 3000
    rows = spark.range(count).select(
        F.lit("a").alias("key"),
        F.timestamp_micros(F.lit(START_US) + F.col("id") * 60_000_000).alias("event_time"),
        F.col("id").cast("int").alias("n"),
    )
    found = canonical(rows, Deduplicate(keys=("key",)), "event_time", DELAY, F.struct("n"))
    assert sorted(kept(found)) == list(range(0, count, 11))
