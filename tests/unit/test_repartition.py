"""`sluice repartition` without Spark: what it shows, what it refuses, and what is taken back of one
that was cut off.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from spark_jobs import failpoint
from spark_jobs.admin.repartition import Planned, plan_repartition
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import FileLock, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.made_by import Before, MadeBy
from spark_jobs.checkpoint.purge import purge
from spark_jobs.checkpoint.repartitioned import FIELD, cut_off, take_back
from spark_jobs.contract.errors import (
    CheckpointBroken,
    LeaseHeld,
    LeaseLost,
    RepartitionRefused,
)
from spark_jobs.contract.report import StateUse
from spark_jobs.contract.spec import Pipeline, State
from spark_jobs.contract.steps import Transform
from spark_jobs.rebuild.side import begin
from spark_jobs.runs.repartition import take_back_cut_off
from tests.unit.checkpoints import plan_batch
from tests.unit.drains import SPEC, Drains
from tests.unit.specs import pipeline

NEWEST = 2
"""The newest batch of `root`."""


@pytest.fixture
def root(tmp_path: Path) -> Drains:
    """Batches 0 to 2 have passed, with state in two stores for each of two steps."""
    made = Drains(tmp_path / "root")
    made.drain(0, NEWEST)
    for batch in range(NEWEST + 1):
        keep(made, batch, 2)
    for path in made.folder.glob("state/0/0/*.snapshot"):
        path.unlink()
    return made


def keep(root: Drains, batch: int, stores: int, unique: str = "id") -> None:
    """The snapshot of every store after a batch, and the commit that names them."""
    for store in (f"state/{step}/{number}" for step in range(2) for number in range(stores)):
        folder = root.folder / store
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / f"{batch + 1}_{unique}.zip", "w") as file:
            file.writestr("metadata", 'v1\n{"sstFiles":[],"numKeys":0}')
        (folder / f".{batch + 1}_{unique}.zip.crc").write_text("")
    ids = {str(step): [[unique]] * stores for step in range(2)}
    said = "v2\n" + json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": ids})
    (root.folder / "commits" / str(batch)).write_text(said)
    (root.folder / "commits" / f".{batch}.crc").write_bytes(b"crc\0")


def written(root: Drains, number: int, *, committed: bool = True) -> None:
    """What Spark has written of a repartition when it was cut off."""
    plan_batch(root.folder, NEWEST + 1, {0: NEWEST + 1}, topic="sales", partitions=number)
    keep(root, NEWEST + 1, number)
    for operator in range(2):
        notes = root.folder / "state" / str(operator) / "_metadata" / "v2"
        notes.mkdir(parents=True, exist_ok=True)
        for batch in (0, NEWEST + 1):
            (notes / str(batch)).write_text("v2")
            (notes / f".{batch}.crc").write_text("")
    if not committed:
        for name in (f"{NEWEST + 1}", f".{NEWEST + 1}.crc"):
            (root.folder / "commits" / name).unlink()


def counts(root: Drains, number: int) -> None:
    """Let the repartition count."""
    root.identity.with_partitions(number, batches=1).write(root.paths.identity)


def planned(root: Drains, wanted: int, spec: Pipeline = SPEC) -> Planned:
    return plan_repartition(spec, root.settings, wanted)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_it_shows_the_stores_of_now_and_of_then_the_size_of_the_state_and_the_time(
    root: Drains,
) -> None:
    state = StateUse(rows=3_000_000, bytes=250_000_000)
    root.cursor.model_copy(update={"state": state}).write(root.paths.cursor)
    before = files(root.folder)
    lines, rows, idle = planned(root, 4)
    assert (rows, idle) == (3_000_000, False)
    assert "3,000,000 rows of state, 250.0 MB, in 2 stores for each stateful step" in lines[0]
    assert "after batch 2 to 4 stores for each step, as batch 3" in lines[1]
    assert "perhaps 120 seconds" in lines[1]
    assert any("spec.py has shuffle_partitions=2: set 4 there too" in line for line in lines)
    assert files(root.folder) == before


def test_it_says_nothing_of_a_spec_that_has_the_number_already(root: Drains) -> None:
    lines = planned(root, 4, pipeline(state=State(shuffle_partitions=4))).lines
    assert not any("spec.py has" in line for line in lines)


def test_as_many_stores_as_there_are_is_nothing_to_do(root: Drains) -> None:
    lines, rows, idle = planned(root, 2)
    assert (rows, idle) == (0, True)
    assert "nothing to move" in lines[-1]


@pytest.mark.parametrize("wanted", [0, -1, 10_001])
def test_a_number_that_no_step_can_have_is_refused(root: Drains, wanted: int) -> None:
    with pytest.raises(RepartitionRefused, match="a number from 1 to 10,000"):
        planned(root, wanted)


def test_a_pipeline_that_never_ran_takes_the_number_from_its_spec(tmp_path: Path) -> None:
    made = Drains(tmp_path / "root")
    made.paths.identity.unlink()
    with pytest.raises(RepartitionRefused, match=r"no state yet.*state.shuffle_partitions=4"):
        planned(made, 4)


def test_a_pipeline_without_state_is_refused(root: Drains) -> None:
    stateless = pipeline(steps=(Transform(where="amount > 0"),), watermark_delay=None)
    with pytest.raises(RepartitionRefused, match="keeps no state"):
        planned(root, 4, stateless)


@pytest.mark.parametrize(
    "stored", [{"state.provider": "hdfs", "state.format": 1}, {"state.format": 1}]
)
def test_state_that_spark_cannot_move_is_refused(root: Drains, stored: dict[str, Any]) -> None:
    known = root.identity
    known.model_copy(update={"fingerprint": known.fingerprint | stored}).write(root.paths.identity)
    with pytest.raises(RepartitionRefused, match="Spark moves only RocksDB's, of format 2"):
        planned(root, 4)


def test_beside_a_run_it_is_refused_with_the_name_of_the_run(root: Drains) -> None:
    with lease(root.paths.lease, "the drain"), pytest.raises(LeaseHeld, match="the drain"):
        planned(root, 4)


def test_behind_a_batch_that_is_not_committed_it_asks_for_a_run(root: Drains) -> None:
    plan_batch(root.folder, NEWEST + 1, {0: 9}, topic="sales")
    with pytest.raises(RepartitionRefused, match=r"batch 3 .* was begun.*sluice drain"):
        planned(root, 4)


def test_beside_a_rebuild_it_is_refused(root: Drains) -> None:
    begin(root.paths, pipeline(state=State(version=2)), "topic-1", "somebody")
    with pytest.raises(RepartitionRefused, match=r"a rebuild is at work.*--discard"):
        planned(root, 4)


def test_behind_a_rewind_that_was_cut_off_it_is_refused(
    root: Drains, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = rewind(SPEC, root.settings, 1).execute
    assert execute is not None
    with monkeypatch.context() as active:
        active.setitem(failpoint.ACTIVE, "rewinding", "raise")
        with pytest.raises(failpoint.Failure):
            execute()
    with pytest.raises(CheckpointBroken, match="a rewind of"):
        planned(root, 4)


def test_a_damaged_log_is_refused(root: Drains) -> None:
    (root.folder / "commits" / str(NEWEST)).write_text("")
    with pytest.raises(CheckpointBroken, match="commits/2 is empty"):
        planned(root, 4)


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("committed", [False, True])
def test_what_is_there_of_one_that_was_cut_off_is_taken_back(
    root: Drains, number: int, *, committed: bool
) -> None:
    before = files(root.folder)
    written(root, number, committed=committed)
    assert cut_off(Checkpoint(root.paths.checkpoint), 2) == NEWEST + 1
    assert "take back batch 3" in planned(root, 4).lines[1]
    told = take_back_cut_off(root.paths, FileLock())
    assert "batch 3, of a repartition that was cut off, is taken back" in told
    left = files(root.folder) - before
    assert {path for path in left if "_metadata" not in path} == {
        f"state/{operator}/{partition}/{name}"
        for operator in range(2)
        for partition in range(min(number, 2))
        for name in (f"{NEWEST + 2}_id.zip", f".{NEWEST + 2}_id.zip.crc")
    }, "the stores that were there keep a file that no commit names"
    assert not any(path.endswith(f"v2/{NEWEST + 1}") for path in left)
    assert take_back_cut_off(root.paths, FileLock()) == "", "and it is done"
    assert Checkpoint(root.paths.checkpoint).readable() == [0, 1, 2]
    assert not (root.folder / "state" / "0" / "2").exists()


@pytest.mark.parametrize("left", range(4))
def test_a_take_back_that_was_cut_off_itself_is_done_again(root: Drains, left: int) -> None:
    written(root, 4)
    checkpoint = Checkpoint(root.paths.checkpoint)
    removed = [
        root.folder / "commits" / "3",
        root.folder / "state" / "0" / "_metadata" / "v2" / "3",
        root.folder / "state" / "1" / "3" / "4_id.zip",
    ]
    for path in removed[:left]:
        path.unlink()
    assert cut_off(checkpoint, 2) == NEWEST + 1
    take_back(checkpoint, NEWEST + 1)
    assert (checkpoint.planned(), checkpoint.committed()) == ([0, 1, 2], [0, 1, 2])
    assert not (root.folder / "state" / "1" / "3").exists()


def test_one_that_counts_is_not_taken_back(root: Drains) -> None:
    written(root, 4)
    counts(root, 4)
    assert take_back_cut_off(root.paths, FileLock()) == ""
    assert Checkpoint(root.paths.checkpoint).committed() == [0, 1, 2, 3]


def test_a_batch_with_records_is_never_taken_back(root: Drains) -> None:
    """Somebody moved the state with Spark alone, and a Sluice that knew no repartition drained."""
    written(root, 4)
    plan_batch(root.folder, NEWEST + 2, {0: 9}, topic="sales", partitions=4)
    assert take_back_cut_off(root.paths, FileLock()) == ""
    plan_batch(root.folder, NEWEST + 1, {0: 9}, topic="sales", partitions=4)
    (root.folder / "offsets" / str(NEWEST + 2)).unlink()
    assert take_back_cut_off(root.paths, FileLock()) == ""


def test_nothing_is_taken_back_without_the_lease(root: Drains) -> None:
    class Lost:
        def confirm(self) -> None:
            raise LeaseLost("it is another's")

    written(root, 4)
    with pytest.raises(LeaseLost):
        take_back_cut_off(root.paths, Lost())
    assert Checkpoint(root.paths.checkpoint).committed() == [0, 1, 2, 3]


@pytest.mark.parametrize("number", [1, 4])
def test_the_state_of_batches_before_and_behind_can_be_read(root: Drains, number: int) -> None:
    written(root, number)
    counts(root, number)
    checkpoint = Checkpoint(root.paths.checkpoint)
    assert checkpoint.readable() == [0, 1, 2, 3]
    assert [checkpoint.partitions(batch) for batch in range(4)] == [2, 2, 2, number]
    (root.folder / "state" / "1" / "0" / "4_id.zip").unlink()
    assert checkpoint.readable() == [0, 1, 2]
    (root.folder / "state" / "0" / "1" / "2_id.zip").unlink()
    assert checkpoint.readable() == [0, 2]


def test_a_rewind_goes_back_behind_it_and_to_the_stores_of_then(root: Drains) -> None:
    written(root, 4)
    counts(root, 4)
    root.account(NEWEST + 1, None)
    root.moved(audited=NEWEST + 1, judged=NEWEST + 1)
    execute = rewind(SPEC, root.settings, 1).execute
    assert execute is not None
    execute()
    assert root.identity.fingerprint[FIELD] == 2
    assert not any(path.endswith("v2/3") for path in files(root.folder))
    assert planned(root, 2).idle


def test_stores_that_there_are_no_more_do_not_keep_the_purge_from_its_work(root: Drains) -> None:
    """Their number of files does not grow."""
    written(root, 1)
    counts(root, 1)
    for batch in range(NEWEST + 2, NEWEST + 8):
        plan_batch(root.folder, batch, {0: 3}, topic="sales", partitions=1)
        keep(root, batch, 1)
    for batch in range(NEWEST + 6):
        for log in ("offsets", "commits"):
            (root.folder / log / str(batch)).unlink()
    assert purge(Checkpoint(root.paths.checkpoint), slack=4) > 0
    assert not [*root.folder.glob("state/*/1/*.zip")]


def test_a_change_that_no_batch_was_made_by_can_still_be_taken_back_behind_it(
    root: Drains,
) -> None:
    former = MadeBy.model_validate(root.identity)
    owner = root.identity.owner(SPEC.name)
    before = Before(made_by=former, committed=NEWEST, written=NEWEST)
    changed = {"fingerprint": former.fingerprint | {"output_mode": "update"}, "before": before}
    root.identity.model_copy(update=changed).write(root.paths.identity)
    written(root, 4)
    counts(root, 4)
    known = read_identity(root.paths)
    assert known is not None
    assert known.before is not None
    assert known.before.in_force(root.paths, owner)
    made: Identity = known.of_newest_batch(root.paths)
    assert made.fingerprint == former.fingerprint | {FIELD: 4}
