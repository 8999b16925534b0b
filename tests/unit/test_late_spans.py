"""What the late records that wait touch, as the query engine adds it up: as Python does one after
the other, and without a record that comes to Python.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.late import LateRecord, LateSpans, Tried
from spark_jobs.repair.find.ranges_due import touched, untried
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Deduplicate, Ranges, Session, Sliding, Tumbling
from spark_jobs.spec.analysis.ranged import Ranged, ranged
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span, floor, joined
from tests.harness.long_form import examples
from tests.unit.repaired import DAY, SPEC, Root
from tests.unit.test_coverage import FINAL, HOURLY, add_late, root
from tests.unit.test_ranged import counts, spec

__all__ = ["root"]  # the fixture
ORIGIN = datetime(1969, 12, 30, tzinfo=UTC)
"""Times on both sides of 1970: SQL's division rounds towards it."""
UNTIL = ORIGIN + timedelta(hours=50)
SHOWN = Span(ORIGIN + timedelta(hours=9), ORIGIN + timedelta(hours=80))
HOUR = timedelta(hours=1)
PARTITIONS = 2
AT = ORIGIN + timedelta(hours=9, minutes=30)
"""Half an hour before its hour ends; the last of its sliding windows ends later than that."""
DEDUPLICATE = Deduplicate(keys=("event_id",))
CHAINS = [
    ranged(spec(DEDUPLICATE)),
    ranged(spec(counts(Tumbling(size="1 hour")))),
    ranged(spec(counts(Sliding(size="50 minutes", slide="20 minutes")))),
    ranged(
        spec(
            DEDUPLICATE,
            counts(Tumbling(size="7 minutes"), event_time="end_at"),
            counts(Sliding(size="1 day", slide="6 hours")),
        )
    ),
    ranged(spec(DEDUPLICATE, counts(Session(gap="20 minutes")), ranges=Ranges(context="3 hours"))),
    ranged(registry.load("aircraft_rotations")),
]
times = (
    st.integers(0, 4 * 86_400).map(lambda s: ORIGIN + timedelta(seconds=s))
    | st.integers(0, 5 * 86_400_000_000).map(lambda us: ORIGIN + timedelta(microseconds=us))
    | st.sampled_from([datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), UNTIL])
)
records = st.lists(st.tuples(times, st.none() | times), max_size=25)
spans = st.tuples(times, times).map(lambda ends: Span(min(ends), max(ends)))
repairs = st.lists(
    st.builds(
        Tried,
        st.dictionaries(st.integers(0, PARTITIONS), st.integers(0, 25)).map(Positions),
        st.lists(spans, min_size=1, max_size=3).map(tuple),
    ),
    max_size=4,
)
generations = map(str, count())
CASES = examples(40)
"""Each writes to a table and asks five times."""


@pytest.fixture(scope="module")
def ops(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("ops")


@settings(max_examples=CASES)
@given(st.sampled_from(CHAINS), records)
def test_the_query_engine_finds_what_each_record_touches_by_itself(ops, way, late):
    made = _late(ops, way, late)
    spans = [way.touched(at, missed) for at, missed in late]
    hit = [span for span in spans if not span.empty]
    ends = Span(min(s.start for s in hit), max(s.end for s in hit)) if hit else None
    assert made.extent() == ends
    for until in (UNTIL, None):
        final = [span for span in spans if until is not None and span.end <= until]
        parts = joined(final)
        assert [each.span for each in made.ranges(until)] == list(parts)
        assert [each.records for each in made.ranges(until)] == [
            sum(span.overlaps(part) for span in final) for part in parts
        ]
        assert made.too_early(until) == len(spans) - len(final)
        expected = Counter(
            (at, span in final) for span in spans for at in _hours(span.within(SHOWN))
        )
        found = Counter[tuple[datetime, bool]]()
        for each in made.intervals(SHOWN, HOUR, until):
            found.update(
                dict.fromkeys(((at, each.final) for at in _hours(each.span)), each.records)
            )
        assert found == expected


@settings(max_examples=CASES)
@given(st.sampled_from(CHAINS), records, repairs, spans)
@example(CHAINS[1], [(AT, None), (AT + 9 * HOUR, None)], [], Span(AT, AT + HOUR / 2))
@example(CHAINS[2], [(AT, None)], [], Span(AT, AT + HOUR / 2))
def test_a_repair_is_planned_begun_and_accounted_by_the_same_records(ops, way, late, tried, bound):
    made = _late(ops, way, late)
    waits = [
        (LateRecord(Place(n % PARTITIONS, n), at, missed), way.touched(at, missed))
        for n, (at, missed) in enumerate(late)
    ]
    final = [span for _, span in waits if span.end <= UNTIL and span.overlaps(bound)]
    assert [each.span for each in made.ranges(UNTIL, bound)] == list(joined(final))
    assert sum(each.records for each in made.ranges(UNTIL, bound)) == len(final)
    behind = len(late) // 3  # the batch that a refused repair knew of
    assert made.untried(UNTIL, behind, tried) == sum(
        record.place.offset > behind
        and not span.empty
        and span.end <= UNTIL
        and not any(_had(repair, record, span) for repair in tried)
        for record, span in waits
    )
    computed = [bound, *(span for repair in tried for span in repair.spans)]
    rows = {record: way.rows_of(span) for record, span in waits}
    assert sorted(made.computed(computed)) == sorted(
        record
        for record, row in rows.items()
        if any(span.start <= row.start and row.end <= span.end for span in computed)
    )


def _had(repair: Tried, record: LateRecord, touched: Span) -> bool:
    return repair.horizon.passed(record.place) and any(
        span.start <= touched.start and touched.end <= span.end for span in repair.spans
    )


def test_of_too_many_ranges_those_with_the_smallest_gap_are_one(ops):
    minutes = [(n * n) % 977 for n in range(200)]
    late = [(ORIGIN + timedelta(minutes=n), None) for n in minutes]
    found = _late(ops, CHAINS[0], late).ranges(UNTIL)
    assert [each.span for each in found] == list(joined(CHAINS[0].touched(at) for at, _ in late))
    assert (len(found), sum(each.records for each in found)) == (64, 200)


def test_pages_and_the_start_of_a_repair_get_no_more_rows_from_more_records(root, monkeypatch):
    handed = list[int]()
    query, stream = ops_tables.query, ops_tables.stream

    def counted(*asked: Any) -> pa.Table:
        handed.append((found := query(*asked)).num_rows)
        return found

    def streamed(*asked: Any) -> Iterator[pa.RecordBatch]:
        for part in stream(*asked):
            handed.append(part.num_rows)
            yield part

    def rows() -> int:
        handed.clear()
        found = coverage(HOURLY, root.paths)
        ranges = touched(HOURLY, root.paths).ranges
        assert found.balance.waiting == sum(each.late for each in found.intervals)
        assert found.balance.waiting == sum(each.late for each in ranges)
        assert found.balance.waiting == untried(HOURLY, root.paths)
        assert (found.quarantine.merged, found.quarantine.off) == (found.quarantine.quarantined, 0)
        return sum(handed)

    monkeypatch.setattr(ops_tables, "query", counted)
    monkeypatch.setattr(ops_tables, "stream", streamed)
    _grow(root, 0, 400)
    few = rows()
    _grow(root, 400, 40_000)
    assert rows() == few < 100


def _late(ops: Path, way: Ranged, late: list[tuple[datetime, datetime | None]]) -> LateSpans:
    """Of a generation of its own, beside those of another. In a table of their own: the log of one
    for all would grow with each example, and be read ten times for each.
    """
    own = {"pipeline": way.spec.name, "generation": next(generations)}
    rows = [
        own
        | {"partition": n % PARTITIONS, "offset": n, "batch_id": n}
        | {"event_time": at, "watermark_missed": missed}
        for n, (at, missed) in enumerate(late)
    ]
    folder = ops / own["generation"]
    anothers = [row | {"generation": "another"} for row in rows]
    ops_tables.append(UPath(folder), "late", rows + anothers)
    return LateSpans(way, Paths(str(folder), way.spec), (own["generation"],), len(rows))


def _hours(span: Span) -> Iterator[datetime]:
    at = floor(span.start, HOUR)
    while not span.empty and at < span.end:
        yield at
        at += HOUR


def _grow(root: Root, first: int, behind: int):
    """Late records in each final hour, and quarantined ones that a replay has used, all of them."""
    add_late(root, *((n, n % (FINAL * 60) / 60) for n in range(first, behind)))
    own = {"pipeline": SPEC.name, "generation": "g1", "partition": 1}
    bad = own | {"batch_id": 9, "kind": "malformed", "event_time": DAY, "value": b"?"}
    ops_tables.append(
        root.paths.root, "quarantine", [bad | {"offset": n} for n in range(first, behind)]
    )
    used = own | {"source": "quarantine", "fate": "merged"}
    ops_tables.append(
        root.paths.root, "merged", [used | {"offset": n} for n in range(first, behind)]
    )
