"""What only the archive has, and a rebuild that has not put it in yet."""

from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.admin.rebuild import archive, needs, run as rebuilding
from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.admin.rebuild.run import Rebuilding
from spark_jobs.checkpoint.notes.live import Live
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.errors import RangeOpen, RebuildRefused
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.unit.sought import Brought
from spark_jobs.side.initial_state import initial_state_path
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.ranged import Ranged, ranged
from spark_jobs.values.spans import FIRST, MICROSECOND, MOST, Span
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.drains import NEXT, NOON, SPEC, Drains, began, begun_beside

HOUR = timedelta(hours=1)
ALL = {0: ((0, 3),)}


@pytest.fixture
def it(tmp_path, monkeypatch) -> Rebuilding:
    """The live table has offsets 0 to 4, the archive all of them, and NEXT has drained from 3 on."""
    live, _ = begun_beside(tmp_path / ROOT, 3)
    monkeypatch.setattr(needs, "archived_or_why", lambda *_: ({0: ((0, 5),)}, None))
    says(monkeypatch, SourceState("topic-1", Positions({0: 3}), Positions({0: 5})))

    def nothing(*_: object):
        raise AssertionError

    return Rebuilding(SPEC, NEXT, live.settings, "run", "ada", nothing, lambda _: None)


@pytest.fixture
def closed(monkeypatch):
    """All rows are final."""
    until = datetime.max.replace(tzinfo=UTC)
    monkeypatch.setattr(Ranged, "closed_until", lambda *_: until)


def test_a_switch_without_what_only_the_archive_has_is_refused(it):
    assert it.looked().archived == ALL
    with fails(RebuildRefused, "archive_unread", count=3):
        rebuilding.switched(it, nobody)
    assert read_begun(it.paths) is not None


@pytest.mark.parametrize(
    ("hours", "wanted"),
    [(-1, ALL), (0.5, {0: ((1, 3),)}), (1, {0: ((1, 3),)}), (9, {})],
    ids=["it began later", "between two", "one's own time", "none is so new"],
)
def test_what_came_before_next_begins_is_not_taken_from_the_archive(it, hours, wanted):
    archived(it, NOON, NOON, NOON, sent=[NOON, NOON + HOUR, NOON])
    declared = NEXT.topic.model_copy(update={"starting": NOON + hours * HOUR})
    it = it._replace(following=NEXT.model_copy(update={"topic": declared}), without_lost=True)
    assert it.looked().archived == wanted


def nobody(_: object):
    """No run works on the live table."""


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("left", [{}, {0: ((2, 5),)}])
def test_what_the_archive_loses_is_lost_unless_the_backfill_was_swapped_in_and_not_by_slices_alone(
    it, monkeypatch, left
):
    archived(it, NOON, NOON, NOON)
    archive.brought(it.side, NEXT, ALL, "run")
    row = {
        "pipeline": SPEC.name, "generation": "g2", "repair_id": "r", "state": "staged",
        "request": f'{{"note": "{needs.NOTE}"}}',
    }  # fmt: skip
    repairs.put(it.side.root, [row])
    assert it.looked().archived == ALL
    monkeypatch.setattr(needs, "archived_or_why", lambda *_: (left, None))
    it = it._replace(without_lost=True)
    assert it.looked().lost == {0: ((0, 2 if left else 3),)}
    repairs.put(it.side.root, [row | {"state": "swapped"}])
    assert (it.looked().lost, it.looked().archived) == ({}, {})


def test_without_a_batch_of_next_nothing_is_taken_from_the_archive_yet(tmp_path, it):
    live = Drains(tmp_path / "another")
    live.drain(0, 4)
    began(live, "g1")
    begin(live.paths, NEXT, "topic-1", "ada")  # its drain waits for the end of a transaction
    it = it._replace(settings=live.settings)
    assert it.looked().archived == ALL
    assert rebuilding.merge_archived(it) == ()


def test_records_that_touch_rows_which_drains_still_write_wait(it, monkeypatch):
    archived(it, NOON, NOON, NOON)
    until = NOON + timedelta(minutes=30)  # its hour is open
    monkeypatch.setattr(Ranged, "closed_until", lambda *_: until)
    with fails(RangeOpen, "archive_open"):
        rebuilding.merge_archived(it)
    assert not ops_tables.exists(it.side.root, "slices"), "nothing is begun"
    assert it.looked().archived


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("at", [NOON, None])
def test_all_of_them_are_read_also_if_none_is_good_since_the_bad_ones_are_to_be_in_quarantine(
    it, at
):
    archived(it, at, at, at)
    brought, said = found(it)
    assert brought.parts == ALL
    # A whole window, though none has a row: no row depends on a record of less.
    assert (brought.spans == (ranged(SPEC).touched(FIRST),)) == (at is None)
    assert said[0].endswith(
        "3 records that only the archive has; 3 of them are malformed or premature, and in "
        "quarantine"
    )


@pytest.mark.usefixtures("closed")
def test_an_archive_of_years_stops_no_rebuild_and_an_old_record_has_its_range(it):
    old = NOON.replace(year=1970)
    archived(it, NOON, old, NOON)
    brought, said = found(it)
    assert spans(brought) == [span_of(old), span_of(NOON)], "and none of the rows between"
    assert str(span_of(old)) in said[0]
    [noted] = stored_slices(it)
    assert (noted["first_event_time"], noted["last_event_time"]) == (old, NOON)


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("year", [1, 1699, 2200, 9999])
def test_a_time_that_no_range_reaches_is_said_and_stops_no_rebuild(it, year):
    sent = NOON.replace(year=9999) if year > NOON.year else NOON  # or it were premature
    archived(it, NOON, datetime(year, 1, 1, tzinfo=UTC), NOON, sent=sent)
    brought, said = found(it)
    assert (brought.parts, spans(brought)) == (ALL, [span_of(NOON)])
    assert "1 of them have event times that are not of the years 1700 to 2200" in said[1]
    [noted] = stored_slices(it)
    assert (noted["records"], noted["first_event_time"]) == (3, NOON)


@pytest.mark.usefixtures("closed")
def test_its_slices_leave_no_offset_out_between_which_the_archive_has_no_record(it, monkeypatch):
    monkeypatch.setattr(archive, "SLICE", 2)
    archived(it, *[NOON] * 4)
    deltalake.DeltaTable(str(it.paths.root / "archive" / SPEC.topic.name)).delete('"offset" = 1')
    archive.brought(it.side, NEXT, {0: ((0, 9),)}, "run")
    assert [
        (row["first_offset"], row["last_offset"], row["records"]) for row in stored_slices(it)
    ] == [(0, 1, 1), (2, 8, 2)]


@pytest.mark.usefixtures("closed")
def test_days_far_apart_are_more_ranges_than_one_commit_takes_and_none_is_left_out(it):
    days = [datetime(year, 6, 1, tzinfo=UTC) for year in range(1900, 2020)]
    archived(it, *days, sent=datetime(2026, 1, 1, tzinfo=UTC))
    brought, said = found(it, {0: ((0, len(days)),)})
    assert len(brought.spans) == MOST
    assert all(
        any(span.overlaps(Span(day, day + MICROSECOND)) for span in brought.spans) for day in days
    )
    assert f"and {MOST - 5} more again" in said[0]


@pytest.mark.usefixtures("closed")
def test_copies_of_an_old_record_a_little_later_or_earlier_are_computed_again(it):
    delay, way = SPEC.watermark_delay, ranged(SPEC)
    assert delay is not None
    archived(it, NOON, NOON, NOON)
    brought, _ = found(it)
    for copy in (NOON - delay, NOON + delay):
        assert any(way.touched(copy).within(span) == way.touched(copy) for span in brought.spans)


@pytest.mark.usefixtures("closed")
def test_a_premature_record_of_the_archive_widens_no_range(it):
    archived(it, NOON, NOON + timedelta(days=30), NOON)
    brought, _ = found(it)
    assert spans(brought) == [span_of(NOON)]


def archived(
    it: Rebuilding,
    *times: datetime | None,
    sent: datetime | list[datetime] = NOON,
    topic_id: str = "topic-1",
):
    """The topic's archive has these event times, from offset 0 on."""
    columns = {
        "topic_id": pa.array([topic_id] * len(times)),
        "partition": pa.array([0] * len(times), pa.int32()),
        "offset": pa.array(range(len(times)), pa.int64()),
        "kafka_timestamp": pa.array(
            sent if isinstance(sent, list) else [sent] * len(times), pa.timestamp("us", "UTC")
        ),
        "event_time": pa.array(times, pa.timestamp("us", "UTC")),
    }
    table = pa.Table.from_pydict(columns)
    deltalake.write_deltalake(str(it.paths.root / "archive" / SPEC.topic.name), table)


def found(it: Rebuilding, parts: Any = ALL) -> tuple[Brought, list[str]]:
    """What is planned for, and what is said, where 3 records are bad."""
    found = archive.brought(it.side, NEXT, parts, "run")
    return found.brought, [*archive.told(found, parts, 3)]


def spans(brought: Brought) -> list[Span]:
    return list(brought.spans)


def span_of(at: datetime) -> Span:
    """What one record touches, and copies of it."""
    way, delay = ranged(SPEC), SPEC.watermark_delay
    assert delay is not None
    return Span(way.touched(at - delay).start, way.touched(at + delay).end)


def stored_slices(it: Rebuilding) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ops_tables.query(
        it.side.root, "slices", "SELECT * FROM slices"
    ).to_pylist()
    return rows


def test_an_initial_state_by_name_is_the_live_table_of_that_pipeline(it):
    before = str(it.paths.root / "tables" / "before")
    assert initial_state_path("before", it.paths.root) == before
    assert initial_state_path("/elsewhere/before", it.side.root) == "/elsewhere/before"
    live = Live(version=3, since=NOON, folder="v3", table="before.v3")
    live.write_whole(it.paths.root / "checkpoints" / "before", None)
    assert initial_state_path("before", it.paths.root) == f"{before}.v3"
