"""Offsets without a slice: which ranges they touch, what is counted, what is not refused."""

import json
import shutil
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.errors import RecordsUnreachable
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.repair.compute.account import Held, Source
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.find.quarantine import Replayable
from spark_jobs.repair.find.replaying import Replaying
from spark_jobs.repair.offsets.holes import Hole, holes
from spark_jobs.repair.offsets.reach import reading
from spark_jobs.repair.offsets.slices import Index
from spark_jobs.repair.planner import plan_repair
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Parts, Positions
from spark_jobs.spec import Ranges
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span
from tests.harness.refused import fails, has
from tests.harness.sources import says
from tests.unit.checkpoints import plan_batch
from tests.unit.repaired import DAY, SPEC, Root, hours

DELAY = SPEC.watermark_delay or timedelta()
HOLE = 3
"""The batch whose record is in no slice: batch n has offset n, which is in hour n."""
LAST, FINAL = 29, 26


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour)


class Holed(Root):
    """Thirty batches as their drains account for them, and an index without batch 3."""

    def make(self):
        self.drain(0, LAST)
        clock = int(at(FINAL).timestamp() * 1000)
        plan_batch(self.folder, LAST, {0: LAST + 1}, clock, topic="sales")
        others = [self.account_of(n) for n in range(LAST + 1) if n != HOLE]
        self.tell(self.lost_account(), *others)
        self.note(n for n in range(LAST + 1) if n != HOLE)

    def account_of(self, n: int, **more: Any) -> dict[str, Any]:
        """The watermark follows the newest event time at the delay."""
        return (
            {"pipeline": SPEC.name, "generation": "g1", "batch_id": n, "run_id": "r", "read": 1}
            | {"offsets_start": json.dumps({0: n}), "offsets_end": json.dumps({0: n + 1})}
            | {"source": "progress", "unknown": 0, "audited_at": at(n + 1)}
            | {"first_event_time": at(n + 0.2), "last_event_time": at(n + 0.5)}
            | {"watermark": at(n - 0.5) - DELAY, "late_before": at(n - 1.5) - DELAY}
            | more
        )

    def lost_account(self, **more: Any) -> dict[str, Any]:
        """Its progress is lost, and its records were gone when it was accounted for."""
        gone = {"source": "reread", "read": 0, "unknown": 1}
        return self.account_of(HOLE, **gone, first_event_time=None, last_event_time=None, **more)

    def tell(self, *rows: dict[str, Any]):
        which = " OR ".join(f"batch_id = {row['batch_id']}" for row in rows)
        ops_tables.replace(self.paths.root, "batches", [*rows], which)

    def note(self, batches: Iterable[int]):
        own = {"pipeline": SPEC.name, "generation": "g1", "run_id": "r", "partition": 0, "late": 0}
        slices = [
            own
            | {"batch_id": n, "first_offset": n, "last_offset": n, "records": 1}
            | {"first_event_time": at(n + 0.2), "last_event_time": at(n + 0.5)}
            for n in batches
        ]
        ops_tables.append(self.paths.root, "slices", slices)

    @property
    def hole(self) -> Hole:
        index = Index.read(self.paths, ("g1",), Positions(), Positions({0: LAST + 1}))
        [found] = holes(SPEC, self.paths, ("g1",), index.lacking)
        assert found.parts == {0: ((HOLE, HOLE + 1),)}
        return found

    def plan(self, first: int, **more: Any) -> RepairPlan:
        span = hours(first)
        request = Request(kind="backfill", start=span.start, end=span.end, **more)
        return plan_repair(SPEC, self.settings, request)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Made once: each test has a copy."""
    folder = tmp_path_factory.mktemp("made")
    Holed(folder).make()
    return folder


@pytest.fixture
def root(tmp_path, made) -> Holed:
    found = Holed(tmp_path)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return found


def kafka_has(patch: pytest.MonkeyPatch, earliest: int, records: int = 0):
    """From this offset on; and so many records in the hole."""
    says(
        patch,
        SourceState("topic-1", Positions({0: earliest}), Positions({0: LAST + 1})),
        records=records,
    )


def test_a_range_that_the_hole_cannot_touch_is_computed_although_nobody_has_its_records(
    root, monkeypatch
):
    kafka_has(monkeypatch, HOLE + 1)
    found = root.plan(20)
    assert found.parts == {0: ((18, 23),)}
    assert (found.records, found.without) == (5, 0)


def test_a_range_that_it_can_touch_needs_a_persons_word_and_then_always_their_approval(
    root, monkeypatch
):
    kafka_has(monkeypatch, HOLE + 1)
    with fails(RecordsUnreachable, "lost_undated", count=1, where=has("partition 0: 1 (3 to 3)")):
        root.plan(5, approve="never")
    with fails(RecordsUnreachable, "lost_undated", where=has(f"before {at(3.5):%F %H:%M:%S}")):
        root.plan(5, approve="never")
    found = root.plan(5, approve="never", without_lost=True)
    assert (found.parts, found.records) == ({0: ((4, 8),)}, 4)
    assert (found.without, found.approve) == (1, "always")
    assert any(line.startswith("  without") for line in found.lines)


def test_a_repair_leaves_out_the_ranges_that_nobody_has_and_computes_the_others(root, monkeypatch):
    kafka_has(monkeypatch, HOLE + 1)
    repair = Request(kind="repair")
    add_late(root, 5)
    with fails(RecordsUnreachable, "lost_undated", count=1):
        plan_repair(SPEC, root.settings, repair)
    add_late(root, 20)
    found = plan_repair(SPEC, root.settings, repair)
    assert all(span.start >= at(18) for span in found.spans)
    assert (found.late, found.without) == (1, 0)
    [told] = [line for line in found.lines if line.startswith("  left out")]
    assert "1 late records wait" in told
    found = plan_repair(SPEC, root.settings, Request(kind="repair", without_lost=True))
    assert (found.late, found.without) == (2, 1)


def add_late(root: Holed, hour: int):
    row = {"pipeline": SPEC.name, "generation": "g1", "batch_id": LAST, "run_id": "r"}
    row |= {"step": "deduplicate", "partition": 0, "offset": LAST - hour}
    row |= {"event_time": at(hour + 0.3), "watermark_missed": at(FINAL)}
    ops_tables.append(root.paths.root, "late", [row])


def test_a_replay_leaves_the_records_beside_which_others_are_gone(root):
    found = Replaying(ranged(SPEC), at(FINAL))
    for hour in (4, 20):
        found.add(Replayable(0, hour, at(hour)))
    found.leave([hours(2, 6)])
    assert ([each.offset for each in found.records], found.unreachable) == ([20], 1)


def test_the_word_is_not_for_records_whose_times_the_index_has(root, monkeypatch):
    kafka_has(monkeypatch, 6)
    with fails(RecordsUnreachable, "gone_from_kafka"):
        root.plan(6, without_lost=True)


def test_what_kafka_has_of_a_hole_is_counted_by_the_plan(root, monkeypatch):
    kafka_has(monkeypatch, 0, records=1)
    found = root.plan(5)
    assert (found.parts, found.records, found.without) == ({0: ((3, 8),)}, 5, 0)


def test_a_place_that_gives_fewer_than_the_drain_had_read_is_not_believed(root, monkeypatch):
    kafka_has(monkeypatch, 0, records=0)
    with fails(RecordsUnreachable, "lost_undated", count=1):
        root.plan(5)


def test_a_hole_that_no_drain_had_read_is_missed_by_no_range(root, monkeypatch):
    root.tell(root.account_of(HOLE, read=0, first_event_time=None, last_event_time=None))
    assert root.hole.empty
    kafka_has(monkeypatch, HOLE + 1)
    found = root.plan(5)
    assert (found.parts, found.records, found.without) == ({0: ((4, 8),)}, 4, 0)
    assert any(line.startswith("  never read      1 offsets") for line in found.lines)


def test_an_account_by_progress_bounds_a_hole_by_what_spark_observed(root):
    root.tell(root.account_of(HOLE))
    assert (root.hole.records, root.hole.times) == (
        1,
        Span(at(3.2), at(3.5) + timedelta.resolution),
    )


def test_one_that_was_read_again_is_bounded_by_the_watermarks_around_it(root):
    assert root.hole.records == 1
    assert root.hole.times.start <= at(HOLE - 1.5) - DELAY
    assert root.hole.times.end == at(3.5) + timedelta(milliseconds=1)


def test_a_delay_that_was_longer_then_bounds_it_by_what_the_accounts_show(root):
    root.tell(root.account_of(10, last_event_time=at(15.5)))  # and the clock was behind
    assert root.hole.times.end == at(8.5)


def test_without_its_account_a_hole_is_before_all_later_ones(root):
    own = ops_tables.equals({"pipeline": SPEC.name})
    ops_tables.remove(root.paths.root, "batches", f"{own} AND batch_id < 10")
    assert (root.hole.batch, root.hole.records) == (None, None)
    assert root.hole.times.end == at(9.5) + timedelta(milliseconds=1)
    ops_tables.remove(root.paths.root, "batches", own)
    assert root.hole.touches([hours(25)])


def test_coverage_shows_the_hours_that_a_hole_can_touch_and_the_offsets_that_nobody_has(root):
    hourly = SPEC.model_copy(update={"ranges": Ranges(every="hour")})
    root.tell(root.account_of(HOLE))
    assert {each.state for each in coverage(hourly, root.paths).intervals} == {"canonical", "open"}
    found = coverage(hourly, root.paths, Positions({0: HOLE + 1}))
    states = [each.state for each in found.intervals]
    assert states[:7] == ["canonical", *["unreachable"] * 5, "canonical"]
    assert "unreachable" not in states[7:]
    [gone] = found.gone
    assert (gone.batch, gone.first_offset, gone.last_offset, gone.records) == (3, 3, 3, 1)
    assert gone.earliest == at(3.2)
    assert str(gone).startswith(
        "partition 0: offsets 3 to 3 are gone: 1 records at most of batch 3"
    )
    assert coverage(hourly, root.paths, Positions({0: HOLE})).gone == ()


def noted(folder: Path, *hours_of: int) -> Index:
    """Slices of a thousand offsets, one after the other, each of one of these hours."""
    paths = Paths(str(folder), SPEC)
    rows = [
        {"pipeline": SPEC.name, "generation": "g", "batch_id": n, "partition": 0, "records": 1000}
        | {"first_offset": n * 1000, "last_offset": n * 1000 + 999, "late": 0}
        | dict.fromkeys(("first_event_time", "last_event_time"), at(hour))
        for n, hour in enumerate(hours_of)
    ]
    ops_tables.append(paths.root, "slices", rows)
    return Index.read(paths, ("g",), Positions(), Positions({0: 1000 * len(hours_of)}))


def test_offsets_between_two_that_are_needed_are_not_read_if_nobody_has_them(tmp_path):
    index = noted(tmp_path, 1, 1, 1, 1, 1, 5, 1, 1, 5)
    has: Parts = {0: ((0, 6000),)}
    found = reading(index, (), [Span(at(5), at(6))], (has, Positions({0: 7000})))
    assert (found.lost, found.where.archive) == ({}, {0: ((5000, 6000),)})
    assert found.where.source == {0: ((8000, 9000),)}
    near = reading(index, (), [Span(at(5), at(6))], (has, Positions({0: 6000})))
    assert near.parts == {0: ((5000, 9000),)}


def test_nor_those_of_a_hole_between_them_that_the_range_does_not_touch(tmp_path):
    index = noted(tmp_path, 5, 1, 5)
    ops_tables.remove(Paths(str(tmp_path), SPEC).root, "slices", "batch_id = 1")
    index = Index.read(Paths(str(tmp_path), SPEC), ("g",), Positions(), Positions({0: 3000}))
    hole = Hole(1, index.lacking, 1000, Span(at(1), at(2)))
    found = reading(index, [hole], [Span(at(5), at(6))], ({}, Positions()))
    assert (found.parts, found.holes) == ({0: ((0, 1000), (2000, 3000))}, ())


@pytest.mark.parametrize(
    ("given", "unaccounted"), [((10, 2, 3), 0), ((6, 2, 3), 4), ((12, 0, 3), 4), ((9, 3, 3), 2)]
)
def test_what_was_read_is_held_against_what_was_planned_of_each_source(given, unaccounted):
    planned = (10, 2, 3)
    assert Held(*map(Source, planned, given), aside=0).unaccounted == unaccounted
