"""What a repair found bad goes into quarantine with its swap, without Spark: each record once,
whatever is cut off and repeated. It stays there when the repair is taken back.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.admin.taken_back import take_back
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.repair import swap as swapping
from spark_jobs.repair.bad_rows import BAD
from tests.unit.repaired import SPEC, Changes, Root, hours, row

CHANGE: Changes = [(row(1, "a"), None)]
NOW = datetime(2026, 3, 9, tzinfo=UTC)
Kept = list[tuple[int, str]]
"""Offset and run of each row of ops.quarantine."""


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Batches 0 to 5 have passed; a drain has quarantined offset 2."""
    made = Root(tmp_path / "root")
    made.drain(0, 5)
    ops_tables.append(made.paths.root, "quarantine", [bad(2, "run-2", 2)])
    return made


def bad(offset: int, run: str, batch: int = 5) -> dict[str, object]:
    return {
        "pipeline": SPEC.name,
        "generation": "g1",
        "batch_id": batch,
        "run_id": run,
        "topic": "sales",
        "partition": 0,
        "offset": offset,
        "value": b"{}",
        "kind": "malformed",
        "reason": "no shop",
        "planned_at": NOW,
    }


def stage(root: Root, repair_id: str, *offsets: int, changes: Changes = CHANGE) -> None:
    """A staged repair that found the records at these offsets bad, as the stage leaves it."""
    spans = None if changes else (hours(3),)
    root.stage(repair_id, changes, spans=spans, merged=())
    manifest = root.paths.staging(repair_id) / "manifest.json"
    told = json.loads(manifest.read_text()) | {"newly_bad": len(offsets)}
    manifest.write_text(json.dumps(told))
    rows = [bad(offset, f"stage-{repair_id}") for offset in offsets]
    table = pa.Table.from_pylist(rows, SCHEMAS["quarantine"])
    deltalake.write_deltalake(str(root.paths.staging(repair_id) / BAD), table)
    known = {"pipeline": SPEC.name, "repair_id": repair_id, "generation": "g1", "state": "staged"}
    known |= {"request": json.dumps({"run": f"stage-{repair_id}"}), "kind": "backfill"}
    repairs.put(root.paths.root, [known | {"horizon": json.dumps({"0": 6})}])


def kept(root: Root) -> Kept:
    rows = ops_tables.query(root.paths.root, "quarantine", "SELECT * FROM quarantine").to_pylist()
    return sorted((row["offset"], row["run_id"]) for row in rows)


BEFORE: Kept = [(2, "run-2")]


def test_a_swap_keeps_what_the_repair_found_bad_byte_for_byte_and_twice_is_once(root: Root) -> None:
    stage(root, "r1", 1, 4)
    assert kept(root) == BEFORE, "it is only staged"
    root.swap("r1")
    root.swap("r1")
    assert kept(root) == [(1, "stage-r1"), (2, "run-2"), (4, "stage-r1")]
    [found] = ops_tables.query(
        root.paths.root, "quarantine", "SELECT * FROM quarantine WHERE offset = 4"
    ).to_pylist()
    assert found == {"kafka_timestamp": None, "event_time": None, "key": None} | bad(4, "stage-r1")


def test_so_does_one_that_changes_no_row(root: Root) -> None:
    stage(root, "r1", 1, changes=[])
    assert root.swap("r1").state == "canonical"
    assert kept(root) == [(1, "stage-r1"), *BEFORE]


def test_a_repair_that_is_told_to_be_in_the_table_has_its_bad_records_in_quarantine(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(root, "r1", 1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(swapping.repairs, "put", killed)
        with pytest.raises(KeyboardInterrupt):
            root.swap("r1")
    assert kept(root) == [(1, "stage-r1"), *BEFORE]
    root.swap("r1")
    assert (kept(root), root.states()) == ([(1, "stage-r1"), *BEFORE], {"r1": "swapped"})


def test_of_two_repairs_that_found_one_record_bad_one_keeps_it(root: Root) -> None:
    stage(root, "r1", 1)
    stage(root, "r2", 1, 4, changes=[(row(3, "a"), None)])
    root.swap("r1")
    root.swap("r2")
    assert kept(root) == [(1, "stage-r1"), *BEFORE, (4, "stage-r2")]


def test_a_replayed_record_that_is_bad_again_stays_where_it_is_and_waits_again(root: Root) -> None:
    fate = {"pipeline": SPEC.name, "generation": "g1", "source": "quarantine", "partition": 0}
    fates = [
        {**fate, "repair_id": "replay", "offset": offset, "fate": "merged"} for offset in (2, 3)
    ]
    ops_tables.append(root.paths.root, "merged", fates)
    stage(root, "r1", 2)
    root.swap("r1")
    assert kept(root) == BEFORE
    assert root.merged() == [("replay", 3)]


def test_a_swap_that_is_given_again_leaves_a_record_that_a_replay_has_brought_back_since(
    root: Root,
) -> None:
    stage(root, "r1", 2)
    root.swap("r1")
    fate = {"pipeline": SPEC.name, "generation": "g1", "source": "quarantine", "partition": 0}
    fates = [{**fate, "repair_id": "replay", "offset": 2, "fate": "merged"}]
    ops_tables.append(root.paths.root, "merged", fates)
    root.swap("r1")
    assert root.merged() == [("replay", 2)]


def test_after_an_undo_they_stay_since_another_repair_may_have_left_them_out_too(
    root: Root,
) -> None:
    stage(root, "r1", 1)
    stage(root, "r2", 1, 4, changes=[(row(3, "a"), None)])
    for each in ("r1", "r2"):
        root.swap(each)
    root.undo("r1")
    assert kept(root) == [(1, "stage-r1"), *BEFORE, (4, "stage-r2")]


def test_so_they_do_after_a_rewind_and_one_that_takes_an_undo_back_finds_them(root: Root) -> None:
    stage(root, "r1", 1)
    root.swap("r1")
    stage(root, "r2", 3, changes=[])
    root.swap("r2")
    assert len(kept(root)) == 3
    before = kept(root)
    take_back(SPEC, root.paths, ("g1",), 6, {0: 4})
    assert kept(root) == before
