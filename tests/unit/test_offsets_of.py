"""Where the records of some event times are, by rows of ops.slices."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings, strategies as st

from spark_jobs.ops import ops_tables
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.holes import holes
from spark_jobs.repair.offsets.reach import reading
from spark_jobs.repair.offsets.slices import MOST_RANGES, NEAR, Index, gaps, merged, without
from spark_jobs.source.positions import Parts, Positions
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span
from tests.harness.long_form import examples
from tests.unit.specs import pipeline

SPEC = pipeline()
DAY = datetime(2026, 1, 1, tzinfo=UTC)
RANGES = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 40)).map(lambda r: (r[0], r[0] + r[1]))
)


def offsets(ranges):
    return {at for first, stop in ranges for at in range(first, stop)}


@given(RANGES, st.integers(0, 50), st.integers(1, 6))
def test_merging_loses_no_offset_and_leaves_few_ranges_apart(ranges, near, most):
    found = merged(ranges, near, most)
    assert offsets(ranges) <= offsets(found)
    assert len(found) <= most
    assert all(two[0] - one[1] >= max(near, 1) for one, two in pairwise(found))
    assert all(first < stop for first, stop in found)


@given(RANGES, st.integers(1, 6))
def test_merging_adds_the_smallest_gaps_and_nothing_at_the_ends(ranges, most):
    apart, found = merged(ranges, 1, len(ranges) + 1), merged(ranges, 1, most)
    assert offsets(apart) == offsets(ranges)
    between = sorted(two[0] - one[1] for one, two in pairwise(apart))
    added = len(offsets(found)) - len(offsets(ranges))
    assert added == sum(between[: max(len(apart) - most, 0)])
    if apart:
        assert (found[0][0], found[-1][1]) == (apart[0][0], apart[-1][1])


@given(RANGES, st.tuples(st.integers(0, 150), st.integers(150, 360)))
def test_gaps_are_what_the_ranges_leave_out(ranges, within):
    assert offsets(gaps(sorted(ranges), within)) == set(range(*within)) - offsets(ranges)


@given(RANGES, RANGES)
def test_what_is_taken_is_left_out(ranges, taken):
    ranges, taken = (merged(each, 1, len(each) + 1) for each in (ranges, taken))
    assert offsets(without(ranges, taken)) == offsets(ranges) - offsets(taken)


@given(RANGES, st.integers(0, 50), st.integers(1, 6), RANGES)
def test_merging_adds_no_offset_that_is_barred(ranges, near, most, others):
    barred = merged(others, 1, len(others) + 1)
    found = merged(ranges, near, most, barred)
    assert offsets(ranges) <= offsets(found)
    assert not (offsets(found) - offsets(ranges)) & offsets(barred)
    assert len(found) <= most + len(barred)


class Found(NamedTuple):
    """What is read where Kafka has everything."""

    parts: Parts
    records: int
    unknown: int


class Root:
    def __init__(self, folder: Path) -> None:
        self.paths = Paths(str(folder), SPEC)

    def slice(self, partition, first, last, hours=None, *, generation="g", pipeline=SPEC.name):
        """A row; its records' times are from the first to the last hour."""
        low, high = (None, None) if hours is None else (DAY + timedelta(hours=h) for h in hours)
        row = {
            "pipeline": pipeline,
            "generation": generation,
            "batch_id": 0,
            "run_id": "r",
            "partition": partition,
            "first_offset": first,
            "last_offset": last,
            "records": last - first,
            "first_event_time": low,
            "last_event_time": high,
            "late": 0,
        }
        ops_tables.append(self.paths.root, "slices", [row])

    def found(self, *hours, start=None, end=None, generations=("g",), every=None) -> Found:
        spans = [Span(*(DAY + timedelta(hours=h) for h in pair)) for pair in hours]
        index = Index.read(
            self.paths, generations, Positions(start or {}), Positions(end or {0: 100_000})
        )
        lacking = holes(SPEC, self.paths, generations, index.lacking)
        found = reading(index, lacking, spans, ({}, Positions()), every)
        unknown = sum(offsets_in(each.where.source) for each in found.holes)
        return Found(found.parts, index.records_at(found.parts), unknown)


def test_only_slices_with_a_time_in_a_span_are_read(tmp_path):
    root = Root(tmp_path)
    for n in range(5):
        root.slice(0, n * NEAR, n * NEAR + NEAR - 1, (n, n + 1))
    end = {0: 5 * NEAR - 1}
    assert root.found((1.5, 1.6), end=end) == Found({0: ((NEAR, 2 * NEAR),)}, NEAR - 1, 0)
    assert root.found((9, 10), end=end) == Found({}, 0, 0)
    assert root.found(end=end) == Found({}, 0, 0)
    assert root.found((3.1, 3.0), end=end) == Found({}, 0, 0), "an empty span has no time"


def test_some_are_read_whatever_their_times_are(tmp_path):
    root = Root(tmp_path)
    for n in range(5):
        root.slice(0, n * NEAR, n * NEAR + NEAR - 1, None if n == 3 else (n, n + 1))
    found = root.found((0.5, 0.6), end={0: 5 * NEAR}, every={0: ((3 * NEAR, 4 * NEAR),)})
    assert found.parts == {0: ((0, NEAR), (3 * NEAR, 4 * NEAR))}
    assert found.records == 2 * (NEAR - 1)


def test_the_ends_of_a_span_and_of_a_slice_are_exact(tmp_path):
    root = Root(tmp_path)
    root.slice(0, 0, 99_999, (1, 2))
    assert root.found((0, 1)).parts == {}, "a span ends before its end"
    assert root.found((2, 3)).parts == {0: ((0, 100_000),)}, "the last record is at the last time"


def test_offsets_without_a_slice_are_read_in_full_and_counted(tmp_path):
    root = Root(tmp_path)
    root.slice(0, 40_000, 59_999, (1, 2))
    root.slice(0, 60_000, 79_999)
    found = root.found((5, 6), end={0: 100_000, 1: 7}, start={1: 3})
    assert found == Found({0: ((0, 40_000), (80_000, 100_000)), 1: ((3, 7),)}, 0, 60_004)


def test_slices_of_other_generations_and_pipelines_are_not_ours(tmp_path):
    root = Root(tmp_path)
    root.slice(0, 0, 99_999, (1, 2), generation="other")
    root.slice(0, 0, 99_999, (1, 2), pipeline="another")
    assert root.found((5, 6)).unknown == 100_000
    assert root.found((5, 6), generations=("g", "other")) == Found({}, 0, 0)


def test_what_is_before_the_start_or_after_the_end_is_left_out(tmp_path):
    root = Root(tmp_path)
    root.slice(0, 0, 99_999, (1, 2))
    root.slice(2, 0, 99_999, (1, 2))
    found = root.found((1, 2), start={0: 10, 2: 50}, end={0: 20, 2: 50})
    assert found.parts == {0: ((10, 20),)}


def test_a_root_without_slices_has_everything_to_read(tmp_path):
    assert Root(tmp_path).found((1, 2)) == Found({0: ((0, 100_000),)}, 0, 100_000)


def test_records_between_two_near_slices_are_counted_too(tmp_path):
    root = Root(tmp_path)
    root.slice(0, 0, 99, (1, 2))
    root.slice(0, 100, 199, (5, 6))
    root.slice(0, 200, 299, (1, 2))
    found = root.found((1, 2), end={0: 300})
    assert found == Found({0: ((0, 300),)}, 3 * 99, 0)


@settings(max_examples=examples(8), deadline=None)
@given(st.data())
def test_no_record_of_a_span_is_lost_among_many_slices(tmp_path_factory, data):
    """Far apart, so that there are more ranges than may remain."""
    root = Root(tmp_path_factory.mktemp("root"))
    hours = data.draw(st.lists(st.integers(0, 9), min_size=30, max_size=60))
    far = NEAR + 1
    rows = [
        {
            "pipeline": SPEC.name,
            "generation": "g",
            "batch_id": 0,
            "partition": 0,
            "records": 5,
            "late": 0,
        }
        | {"first_offset": n * far, "last_offset": n * far + far - 1}
        | dict.fromkeys(("first_event_time", "last_event_time"), DAY + timedelta(hours=hour))
        for n, hour in enumerate(hours)
    ]
    lost = data.draw(st.sets(st.integers(0, len(hours) - 1), max_size=5))
    ops_tables.append(
        root.paths.root, "slices", [row for n, row in enumerate(rows) if n not in lost]
    )
    first = data.draw(st.integers(0, 9))
    last = data.draw(st.integers(first + 1, 10))
    found = root.found((first, last), end={0: len(hours) * far})
    parts = found.parts.get(0, ())
    wanted = [n for n, hour in enumerate(hours) if first <= hour < last or n in lost]
    assert all(any(one <= n * far and (n + 1) * far <= two for one, two in parts) for n in wanted)
    assert len(parts) <= MOST_RANGES
    assert found.unknown == len(lost) * far
