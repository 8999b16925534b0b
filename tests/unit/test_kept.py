"""What a repair takes from ops.late and ops.quarantine, byte for byte, and not from Kafka."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.repair.compute import kept
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.source.place import Place
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span
from tests.harness.roots import ROOT, repair_plan
from tests.unit.specs import group_state, pipeline

SPEC = pipeline(steps=(group_state(),))
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
BYTES = b"\x00\xff\xfe not text"


@pytest.fixture
def paths(tmp_path) -> Paths:
    return Paths(str(tmp_path / ROOT), SPEC)


def record(offset: int, hours: int = 0, **columns: Any) -> dict[str, Any]:
    """One of partition 0, so many hours after noon."""
    return {
        "pipeline": SPEC.name, "generation": "g1", "batch_id": 1, "partition": 0,
        "offset": offset, "kafka_timestamp": NOON, "event_time": NOON + hours * HOUR, "key": None,
        "value": BYTES,
    } | columns  # fmt: skip


HEADERS = [{"key": "a", "value": b"\xff"}, {"key": "a", "value": None}]


def plan(**fields: Any) -> RepairPlan:
    """Of the hour after noon, up to batch 1."""
    hour = (Span(NOON, NOON + HOUR),)
    whole = {"spans": hour, "needed": hour, "generations": ("g0", "g1"), "batch": 1}
    return repair_plan(SPEC.name, **whole | {"horizon": {0: 99}, "until": NOON + HOUR} | fields)


def rows(path: UPath | None) -> list[tuple[Any, ...]]:
    assert path is not None
    return [tuple(row.values()) for row in pq.read_table(str(path)).to_pylist()]


def test_late_records_of_the_needed_times_are_there_byte_for_byte_and_no_others(paths):
    ops_tables.append(
        paths.root,
        "late",
        [
            record(1),
            record(2, generation="g0", key=b"", headers=HEADERS),
            record(3, hours=1),
            record(4, hours=-1),
            record(5, batch_id=2),
            record(6, generation="of a reset"),
            record(7, pipeline="another"),
        ],
    )
    found = kept.write(paths, plan(late=2))
    assert sorted(rows(found.late.values)) == [
        (0, 1, NOON, None, None, BYTES, None),
        (0, 2, NOON, None, b"", BYTES, HEADERS),
    ]
    assert (found.quarantine, found.places) == (None, None)


def test_of_the_quarantine_those_are_there_that_the_plan_names(paths):
    named = {0: (2, 9), 3: (5,)}
    bad = [record(offset, event_time=None) for offset in range(12)]
    ops_tables.append(paths.root, "quarantine", [*bad, record(5, partition=3)])
    found = kept.write(paths, plan(quarantined=named))
    assert sorted(row[:2] for row in rows(found.quarantine.values)) == [(0, 2), (0, 9), (3, 5)]
    assert found.late is None


def test_what_is_gone_since_the_plan_is_an_empty_file_so_that_it_is_missed(paths):
    found = kept.write(paths, plan(late=1, quarantined={0: (1,)}))
    assert rows(found.late.values) == rows(found.quarantine.values) == []


def test_of_elements_the_value_is_there_once_and_which_of_its_records_are_meant(paths):
    """The first rejected one has the bytes, which may itself be not needed, or known already."""

    def late(offset: int, element: int, hours: int = 0, value: bytes | None = None, **more: Any):
        return record(offset, hours, element=element, value=value, **more)

    of_two = [late(1, 2, 1, b"one"), late(1, 5), late(1, 7), late(2, 0, value=b"two"),
              late(3, 0, 1, b"three")]  # fmt: skip
    ops_tables.append(paths.root, "late", [*of_two, late(2, 0, value=b"two", generation="g0")])
    bad = [record(1, element=0, event_time=None, value=b"one"),
           record(1, element=9, event_time=None, value=None),
           record(8, event_time=None, value=b"refused as a whole")]  # fmt: skip
    ops_tables.append(paths.root, "quarantine", bad)
    found = kept.write(paths, plan(**READ, late=3, quarantined=[(0, 1, 9)]))
    assert [(*row[:2], row[5]) for row in rows(found.late.values)] == [
        (0, 1, b"one"), (0, 2, b"two")]  # fmt: skip
    assert {*rows(found.late.elements)} == {(0, 1, 5), (0, 1, 7), (0, 2, 0)}
    assert [(*row[:2], row[5]) for row in rows(found.quarantine.values)] == [(0, 1, b"one")]
    assert rows(found.quarantine.elements) == [(0, 1, 9)]
    assert {*rows(found.places)} == {(0, 1, 5), (0, 1, 7), (0, 2, 0), (0, 1, 9)}
    assert sorted(rows(found.aside)) == [(0, 1, 0), (0, 1, 2), (0, 3, 0), (0, 8, -1)]


def test_a_plan_that_an_older_sluice_made_names_its_records_by_partition():
    made = plan(quarantined={0: (2, 9), 3: (5,)})
    assert made.quarantined == (Place(0, 2), Place(0, 9), Place(3, 5))
    older = made.model_dump(mode="json") | {
        "quarantined": {"3": [5]},
        "replays": [[3, 5, NOON.isoformat(), None]],
    }
    read = RepairPlan.model_validate_json(json.dumps(older))
    assert read.quarantined == tuple(each.place for each in read.replays) == (Place(3, 5),)
    assert RepairPlan.model_validate_json(made.model_dump_json()) == made


READ: dict[str, Any] = {
    "parts": {0: ((0, 10), (19, 20)), 1: ((0, 99),)},
    "archived": {0: ((20, 29),)},
}


def test_what_is_not_used_is_kept_aside_at_offsets_that_are_read_from_anywhere(paths):
    ops_tables.append(paths.root, "late", [record(1), record(10), record(20), record(21, hours=1)])
    ops_tables.append(paths.root, "quarantine", [record(19), record(15, partition=2), record(29)])
    found = kept.write(paths, plan(**READ, late=2))
    assert sorted(rows(found.places)) == [(0, 1, -1), (0, 20, -1)]
    assert sorted(rows(found.aside)) == [(0, 19, -1), (0, 21, -1)]


@pytest.mark.parametrize("at", [pytest.param(5, id="read"), pytest.param(50, id="not read")])
@pytest.mark.parametrize("hours", [pytest.param(0, id="needed"), pytest.param(1, id="not needed")])
@pytest.mark.parametrize("named", [True, False])
def test_a_late_record_that_was_found_bad_is_used_once_where_the_plan_names_it(
    paths, at, hours, named
):
    """As records.py takes it: from the topic, from ops.late, or from ops.quarantine."""
    ops_tables.append(paths.root, "late", [record(at, hours), record(99)])
    ops_tables.append(paths.root, "quarantine", [record(at, hours)])
    found = kept.write(paths, plan(**READ, late=1, quarantined={0: (at,)} if named else {}))

    def places(path: UPath | None) -> set[tuple[int, int]]:
        return set() if path is None else {row[:2] for row in rows(path)}

    place = {(0, at)}
    topic = place if at == 5 else set()
    used = topic - places(found.aside)
    late = place & places(found.late.values)
    late_used = late - places(found.bad)
    taken = [
        *(used - places(found.places)),
        *(late_used - places(found.named)),
        *(place & places(found.quarantine and found.quarantine.values)),
    ]
    assert len(taken) == named
    kept_aside = len(topic) + len(late) - len(used) - len(late_used)
    assert kept_aside + len(taken) == bool(topic or late or named), "it is read once"


def test_a_second_try_overwrites_what_a_killed_one_has_left_and_nothing_stays(paths):
    ops_tables.append(paths.root, "late", [record(1)])
    for _ in range(2):
        assert len(rows(kept.write(paths, plan(late=1)).late.values)) == 1
    kept.remove(paths, plan())
    assert not kept.folder(paths, plan()).exists()


def test_records_of_every_source_count_for_how_spark_makes_its_queries():
    read = {"parts": {0: ((0, 5),)}, "archived": {1: ((7, 9),)}}
    assert plan(**read, late=3, quarantined={0: (1,), 1: (2, 4)}).records_read == 5 + 2 + 3 + 3
