"""What only the archive has, and a rebuild that has not put it in yet. That it is put in, and how:
tests/spark/test_rebuild.py.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.admin import archive_merge, older, rebuilding
from spark_jobs.admin.rebuild_run import Rebuilding
from spark_jobs.contract.errors import RangeOpen, RebuildRefused
from spark_jobs.contract.paths import archives_root
from spark_jobs.contract.ranged import Ranged, ranged
from spark_jobs.contract.request import Request
from spark_jobs.contract.span import FIRST
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.rebuild.side import begin
from tests.unit.drains import NOON, SPEC, Drains
from tests.unit.test_rebuild_plan import NEXT, began


@pytest.fixture
def it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rebuilding:
    """The live table has offsets 0 to 4, the archive all of them, and NEXT has drained from 3 on."""
    live = Drains(tmp_path / "root")
    live.drain(0, 4)
    began(live, "g1")
    begin(live.paths, NEXT, "topic-1", "ada")
    side = Drains(Path(str(live.paths.rebuild)), NEXT, "g2")
    side.drain(0, 4)
    began(side, "g2", 3)
    monkeypatch.setattr(older, "archived_or_why", lambda *_: ({0: ((0, 5),)}, None))

    def nothing(*_: object) -> None:
        raise AssertionError

    return Rebuilding(
        SPEC, NEXT, live.settings, "run", "ada", nothing, lambda _: None, lambda: None
    )


def test_a_switch_without_what_only_the_archive_has_is_refused(it: Rebuilding) -> None:
    assert archive_merge.pending(it) == {0: (0, 3)}
    with pytest.raises(RebuildRefused, match=r"3 records that only the topic's archive has.*stage"):
        rebuilding.switched(it, nobody)
    assert it.paths.rebuild.exists()


def nobody(_: object) -> None:
    """No run works on the live table."""


def test_it_is_in_by_the_backfill_that_was_swapped_in_and_not_by_its_slices_alone(
    it: Rebuilding,
) -> None:
    ops_tables.append(it.side.root, "slices", noted(NOON).to_pylist())
    row = {
        "pipeline": SPEC.name,
        "generation": "g2",
        "repair_id": "r",
        "state": "staged",
        "request": f'{{"note": "{archive_merge.NOTE}"}}',
    }
    repairs.put(it.side.root, [row])
    assert archive_merge.pending(it) == {0: (0, 3)}
    repairs.put(it.side.root, [row | {"state": "swapped"}])
    assert archive_merge.pending(it) == {}


def test_records_that_touch_rows_which_drains_still_write_wait(
    it: Rebuilding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_merge, "_slices", lambda *_: noted(NOON))
    until = NOON + timedelta(minutes=30)  # its hour is open
    monkeypatch.setattr(Ranged, "closed_until", lambda *_: until)
    with pytest.raises(RangeOpen, match=r"archive alone has records up to .* still write rows"):
        archive_merge.merge_archived(it)
    assert not ops_tables.exists(it.side.root, "slices"), "nothing is begun"
    assert archive_merge.pending(it)


@pytest.mark.parametrize("at", [NOON, None])
def test_all_of_them_are_read_also_if_none_is_good_since_the_bad_ones_are_to_be_in_quarantine(
    it: Rebuilding, monkeypatch: pytest.MonkeyPatch, at: datetime | None
) -> None:
    said, asked = list[str](), list[object]()
    found = SimpleNamespace(change=SimpleNamespace(newly_bad=3))
    monkeypatch.setattr(archive_merge, "_slices", lambda *_: noted(at))
    monkeypatch.setattr(Ranged, "closed_until", lambda *_: NOON + timedelta(days=1))
    monkeypatch.setattr(archive_merge, "plan_repair", lambda *given: asked.extend(given[2:]))
    monkeypatch.setattr(archive_merge, "repair_beside", lambda *_: (found, None))
    assert archive_merge.merge_archived(it._replace(say=said.append)) == (found,)
    request, every = asked
    assert every == {0: ((0, 3),)}
    assert isinstance(request, Request)
    assert request.span is not None
    # A whole window, though none has a row: no row depends on a record of less.
    assert (request.span == ranged(SPEC).touched(FIRST)) == (at is None)
    assert said[0].endswith(
        "3 records that only the archive has; 3 of them are malformed or premature, and in "
        "quarantine"
    )


def noted(at: datetime | None) -> pa.Table:
    """A slice of the three records."""
    row = {
        "pipeline": SPEC.name,
        "generation": "g2",
        "batch_id": -1,
        "partition": 0,
        "first_offset": 0,
        "last_offset": 2,
        "records": 3,
        "first_event_time": at,
        "last_event_time": at,
        "late": 0,
    }
    schema = SCHEMAS["slices"]
    return pa.table(
        {name: pa.array([row.get(name)], schema.field(name).type) for name in schema.names}
    )


def test_the_archive_of_a_rebuild_is_that_of_the_live_root_and_no_other_folder_is_taken_for_one(
    it: Rebuilding, tmp_path: Path
) -> None:
    assert archives_root(it.side.root) == it.paths.root
    assert archives_root(it.paths.root) == it.paths.root
    (tmp_path / "rebuilds" / "root").mkdir(parents=True)
    own = UPath(tmp_path / "rebuilds" / "root")
    assert archives_root(own) == own, "somebody's root that is called so"
