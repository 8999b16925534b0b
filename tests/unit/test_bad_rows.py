"""What a repair found bad goes into quarantine with its swap, once, and stays there."""

import json
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.admin.restoring import take_back, taken_back
from spark_jobs.checkpoint.lease import lease
from spark_jobs.ops import ops_tables, repairs, taken_out
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.repair import swap as swapping
from spark_jobs.repair.exchange.exchange import BAD, put_bad
from spark_jobs.repair.manifest import MergedRecord, read_manifest
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.ranged import needed
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from tests.harness.long_form import long_form
from tests.harness.ran import python
from tests.harness.roots import ROOT
from tests.harness.turns import held_by
from tests.unit.repaired import SPEC, Changes, Root, hour, hours, late, row

pytestmark = held_by("simulation/test_simulation.py")

CHANGE: Changes = [(row(1, "a"), None)]
NOW = datetime(2026, 3, 9, tzinfo=UTC)
Kept = list[tuple[int, str]]
"""Offset and run of each row of ops.quarantine."""


def way_back(root: Root, version: int, offset: int = 6) -> Callable[[], None]:
    """What a rewind to that version does with the repairs: found once, done at each call."""
    found = taken_back(root.paths, ("g1",), version, Positions({0: offset}), needed(SPEC))

    def take():
        with lease(root.paths.lease, "rewind") as held:
            take_back(root.paths, ("g1",), found, held)

    return take


@pytest.fixture
def root(tmp_path) -> Root:
    """Batches 0 to 5 have passed; a drain has quarantined offset 2."""
    made = Root(tmp_path / ROOT)
    made.drain(0, 5)
    ops_tables.append(made.paths.root, "quarantine", [bad(2, "run-2", 2)])
    return made


def bad(offset: int, run: str, batch: int = 5) -> dict[str, object]:
    return {
        "pipeline": SPEC.name, "generation": "g1", "batch_id": batch, "run_id": run,
        "topic": "sales", "partition": 0, "offset": offset, "value": b"{}",
        "headers": [{"key": "a", "value": b"\xff"}], "kind": "malformed", "reason": "no shop",
        "planned_at": NOW,
    }  # fmt: skip


def stage(
    root: Root,
    repair_id: str,
    *offsets: int,
    changes: Changes = CHANGE,
    merged: tuple[MergedRecord, ...] = (),
):
    """A staged repair that found the records at these offsets bad, as the stage leaves it."""
    spans = None if changes else (hours(3),)
    root.stage(repair_id, changes, spans=spans, merged=merged)
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


def test_a_swap_keeps_what_the_repair_found_bad_byte_for_byte_and_twice_is_once(root):
    stage(root, "r1", 1, 4)
    assert kept(root) == BEFORE, "it is only staged"
    root.swap("r1")
    root.swap("r1")
    assert kept(root) == [(1, "stage-r1"), (2, "run-2"), (4, "stage-r1")]
    [found] = ops_tables.query(
        root.paths.root, "quarantine", "SELECT * FROM quarantine WHERE offset = 4"
    ).to_pylist()
    unknown = dict.fromkeys(
        ("kafka_timestamp", "kafka_millis", "event_time", "key", "left_out", "element")
    )
    assert found == unknown | bad(4, "stage-r1")


def test_the_bytes_of_a_value_go_with_an_element_that_quarantine_has_not_yet(root):
    """A replay brought the first of three: its row is there, and may expire before the others'."""
    told = bad(4, "run-2") | {"element": 1}
    own = [bad(4, "stage-r1") | {"element": 1}]
    own += [bad(4, "stage-r1") | {"element": n, "value": None, "headers": None} for n in (2, 3)]
    ops_tables.append(root.paths.root, "quarantine", [told])
    stage(root, "r1", 4)
    table = pa.Table.from_pylist(own, SCHEMAS["quarantine"])
    deltalake.write_deltalake(str(root.paths.staging("r1") / BAD), table, mode="overwrite")
    root.swap("r1")
    rows = ops_tables.query(
        root.paths.root, "quarantine", "SELECT * FROM quarantine WHERE offset = 4 ORDER BY element"
    ).to_pylist()
    assert [(row["element"], row["run_id"], row["value"]) for row in rows] == [
        (1, "run-2", b"{}"), (2, "stage-r1", b"{}"), (3, "stage-r1", None),
    ]  # fmt: skip
    assert rows[1]["headers"] == told["headers"]


def test_so_does_one_that_changes_no_row(root):
    stage(root, "r1", 1, changes=[])
    assert (root.swap("r1").state, kept(root)) == ("canonical", [(1, "stage-r1"), *BEFORE])


def test_a_repair_told_to_be_in_the_table_has_its_bad_records_in_quarantine(root, monkeypatch):
    stage(root, "r1", 1)

    with killed_at(monkeypatch, "put"):
        root.swap("r1")
    assert kept(root) == [(1, "stage-r1"), *BEFORE]
    root.swap("r1")
    assert (kept(root), root.states()) == ([(1, "stage-r1"), *BEFORE], {"r1": "swapped"})


def test_a_replayed_record_that_is_bad_again_stays_where_it_is_and_waits_again(root):
    replayed(root, 2, 3)
    stage(root, "r1", 2)
    root.swap("r1")
    assert (kept(root), fates(root)) == (BEFORE, [("replay", 3)])


@pytest.mark.parametrize("point", ["", "swap.committed", "swap.recorded", "put", "given"])
def test_an_undo_gives_fate_place_and_time_back_once_also_if_it_is_killed_and_given_again(
    root, monkeypatch, point
):
    replayed(root, 2, 3)
    before = told(root)
    stage(root, "r1", 2)
    root.swap("r1")
    assert told(root) != before
    with killed_at(monkeypatch, point):
        root.undo("r1")
    root.undo("r1")
    assert (told(root), root.states()) == (before, {"r1": "undone", "r1/undo": "swapped"})


def test_a_rewind_to_before_the_repair_gives_it_back_also_if_it_is_cut_off(root, monkeypatch):
    replayed(root, 2, 3)
    before, version = told(root), root.version
    stage(root, "r1", 2)
    root.swap("r1")
    back = way_back(root, version)
    for point in ("given", "put"):
        with killed_at(monkeypatch, point):
            back()
    back()
    assert told(root) == before
    back()
    assert told(root) == before


@pytest.mark.parametrize("point", ["", "given", "put"])
def test_a_rewind_to_before_an_undo_says_what_was_said_then(root, monkeypatch, point):
    replayed(root, 2, 3)
    stage(root, "r1", 2, merged=(late(7, hour(0)),))
    root.swap("r1")
    there, version = told(root), root.version
    assert fates(root) == [("r1", 7), ("replay", 3)]
    root.undo("r1")
    assert fates(root) == [("replay", 2), ("replay", 3)]
    back = way_back(root, version)
    with killed_at(monkeypatch, point):
        back()
    back()
    assert (told(root), root.states()["r1"]) == (there, "swapped")


def test_where_its_staging_is_gone_by_then_the_rewind_ends_and_the_records_wait(root):
    stage(root, "r1", 4, merged=(late(7, hour(0)),))
    root.swap("r1")
    version = root.version
    root.undo("r1")
    shutil.rmtree(str(root.paths.staging("r1")))
    way_back(root, version)()
    assert (fates(root), root.states()["r1"]) == ([], "swapped")


def test_a_record_that_a_replay_has_brought_since_is_said_once(root):
    replayed(root, 2)
    stage(root, "r1", 2)
    root.swap("r1")
    replayed(root, 2, by="later")
    root.undo("r1")
    assert fates(root) == [("later", 2)]


def test_the_fate_of_a_replay_that_is_taken_back_too_is_not_given_back(root):
    replayed(root, 2)
    known = {"pipeline": SPEC.name, "repair_id": "replay", "generation": "g1", "kind": "replay"}
    repairs.put(root.paths.root, [known | {"state": "swapped", "table_version": root.version}])
    stage(root, "r1", 2)
    root.swap("r1")
    way_back(root, 0)()
    assert told(root) == []


def by_replay(root: Root):
    """A replay, r1, is staged, by which offset 2 gets into the rows."""
    root.stage("r1", [(None, row(3, "z"))], merged=(brought(2),))
    known = {"pipeline": SPEC.name, "repair_id": "r1", "generation": "g1", "state": "staged"}
    known |= {"request": "{}", "kind": "replay", "horizon": json.dumps({"0": 6})}
    repairs.put(root.paths.root, [known])


def brought(offset: int) -> MergedRecord:
    return MergedRecord(
        topic_id="topic-1", partition=0, offset=offset, source="quarantine", fate="merged",
        position=hour(3),
    )  # fmt: skip


def found_bad_since(root: Root):
    """A backfill, r2, has left the replayed record out of the rows."""
    stage(root, "r2", 2, changes=[(row(3, "z"), None)])
    root.swap("r2")


def taken(root: Root) -> list[tuple[str, str, str | None]]:
    return [(row["repair_id"], row["source"], row["taken_out_by"]) for row in told(root)]


OUT = [("r1", "taken out", "r2")]


def test_of_two_undos_that_a_rewind_takes_back_the_later_repair_still_takes_out(root):
    by_replay(root)
    root.swap("r1")
    found_bad_since(root)
    version = root.version
    assert taken(root) == OUT
    root.undo("r2")
    root.undo("r1")
    assert taken(root) == []
    way_back(root, version)()
    assert taken(root) == OUT


def test_a_swap_that_is_given_again_does_not_say_what_a_later_repair_took_out(root):
    by_replay(root)
    root.swap("r1")
    found_bad_since(root)
    shutil.rmtree(str(root.paths.staging("r2")))  # as sluice maintain does in time
    assert (root.swap("r1").state, taken(root)) == ("swapped", OUT)


def test_nor_does_one_that_was_killed_behind_its_commit(root, monkeypatch):
    by_replay(root)
    with killed_at(monkeypatch, "swap.committed"):
        root.swap("r1")
    found_bad_since(root)
    root.swap("r1")
    assert taken(root) == OUT


def test_a_rewind_gives_nothing_back_of_another_checkpoint_of_the_pipeline(root):
    replayed(root, 2, by="r1", generation="g0", source="taken out", taken_out_by="r2")
    before = told(root)
    way_back(root, root.version)()
    assert told(root) == before


def replayed(root: Root, *offsets: int, by: str = "replay", **more: str):
    """A replay has brought these into the rows."""
    fate = {
        "pipeline": SPEC.name, "generation": "g1", "topic_id": "topic-1", "partition": 0,
        "source": "quarantine", "repair_id": by, "fate": "merged", "position": NOW,
        "event_time": NOW,
    }  # fmt: skip
    rows = [fate | more | {"offset": each} for each in offsets]
    ops_tables.append(root.paths.root, "merged", rows)


def fates(root: Root) -> list[tuple[str, int]]:
    """Repair and offset of the records of which readers know that they are in the rows."""
    return [
        (row["repair_id"], row["offset"])
        for row in told(root)
        if row["source"] in {"late", "quarantine"}
    ]


def told(root: Root) -> list[dict[str, Any]]:
    """All rows of ops.merged."""
    rows = ops_tables.query(root.paths.root, "merged", "SELECT * FROM merged").to_pylist()
    return sorted(rows, key=lambda row: (row["repair_id"], row["offset"]))


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, point: str) -> Iterator[None]:
    """What is done within is killed there. put: before ops.repairs is written; given: right behind
    the fates that are given back; nowhere: it ends by itself.
    """
    give_back = taken_out.give_back

    def killed(*_: object):
        raise KeyboardInterrupt

    def given(*of: Any):
        give_back(*of)
        raise KeyboardInterrupt

    if not point:
        yield
        return
    with monkeypatch.context() as patch:
        if "." in point:
            patch.setitem(failpoint.ACTIVE, point, "raise")
        elif point == "put":
            patch.setattr(swapping.repairs, "put", killed)
        else:
            patch.setattr(taken_out, "give_back", given)
        with pytest.raises(failpoint.Failure if "." in point else KeyboardInterrupt):
            yield


def test_a_swap_that_is_given_again_leaves_a_record_that_a_replay_has_brought_back_since(root):
    stage(root, "r1", 2)
    root.swap("r1")
    replayed(root, 2)
    root.swap("r1")
    assert fates(root) == [("replay", 2)]


def test_after_an_undo_they_stay_since_another_repair_may_have_left_them_out_too(root):
    stage(root, "r1", 1)
    stage(root, "r2", 1, 4, changes=[(row(3, "a"), None)])
    for each in ("r1", "r2"):
        root.swap(each)
    root.undo("r1")
    assert kept(root) == [(1, "stage-r1"), *BEFORE, (4, "stage-r2")]


def test_so_they_do_after_a_rewind_and_one_that_takes_an_undo_back_finds_them(root):
    stage(root, "r1", 1)
    root.swap("r1")
    stage(root, "r2", 3, changes=[])
    root.swap("r2")
    assert len(kept(root)) == 3
    before = kept(root)
    way_back(root, 6, 4)()
    assert kept(root) == before


@long_form
def test_a_swap_keeps_a_part_of_what_was_found_bad_in_memory_and_not_all_of_it(root):
    root.stage("r1", CHANGE, merged=())
    folder = str(root.paths.staging("r1") / BAD)
    apart(f"written({folder!r})")
    grown = int(apart(f"put_of({folder!r}, {str(root.paths.root)!r})"))
    rows = ops_tables.query(root.paths.root, "quarantine", "SELECT count(*) AS n FROM quarantine")
    assert rows.to_pylist() == [{"n": MANY + len(BEFORE)}]
    # In one table they would be there several times over, as rows and as Parquet.
    assert grown < MANY * BYTES * 1.5


MANY, BYTES = 600_000, 1_000


def apart(call: str) -> str:
    """What a process of its own prints that calls it."""
    code = f"from tests.unit import test_bad_rows as it; print(it.{call})"
    done = python(code)
    return done.stdout.strip()


def written(folder: str):
    """A staging of many records that were found bad, in row groups as Spark writes them."""

    def parts() -> Iterator[pa.RecordBatch]:
        for first in range(10, MANY + 10, 5_000):
            rows = [
                bad(offset, "stage-r1") | {"value": os.urandom(BYTES)}
                for offset in range(first, first + 5_000)
            ]
            yield from pa.Table.from_pylist(rows, SCHEMAS["quarantine"]).to_batches()

    deltalake.write_deltalake(
        folder,
        pa.RecordBatchReader.from_batches(SCHEMAS["quarantine"], parts()),
        writer_properties=deltalake.WriterProperties(max_row_group_size=100_000),
    )


def put_of(folder: str, root: str) -> int:
    """By how many bytes the process grows that puts them into quarantine, at the most."""
    paths = Paths(root, SPEC)
    manifest = read_manifest(paths, Path(folder).parent.name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with lease(paths.lease, "swap") as held:
        put_bad(paths, manifest, held)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
