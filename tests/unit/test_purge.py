"""The purge: which state files go, and which stay, in checkpoints as Spark writes them."""

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from upath import UPath

from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.purge import purge
from tests.unit.checkpoints import begin, plan_batch

OLD, NEW = "0a", "0b"


def snapshot(store: Path, version: int, unique: str, *ssts: str) -> None:
    """A RocksDB snapshot of these SST files, each with the checksum that Hadoop writes."""
    (store / "SSTs").mkdir(parents=True, exist_ok=True)
    for sst in ssts:
        (store / "SSTs" / sst).write_text("sst")
        (store / "SSTs" / f".{sst}.crc").write_text("")
    files = [{"localFileName": sst, "dfsSstFileName": sst, "sizeBytes": 3} for sst in ssts]
    with zipfile.ZipFile(store / f"{version}_{unique}.zip", "w") as file:
        file.writestr("metadata", "v1\n" + json.dumps({"sstFiles": files, "numKeys": 1}))
    (store / f".{version}_{unique}.zip.crc").write_text("")


def commit(folder: UPath, batch: int, unique: str | None, *, planned: bool = True) -> None:
    if planned:
        plan_batch(folder, batch, {0: batch + 1})
    ids = {"0": [[unique]]} if unique else {}
    (folder / "commits" / str(batch)).write_text("v2\n" + json.dumps({"stateUniqueIds": ids}))


def written(folder: Path, batches: int, *ssts: str, commits: Iterable[int]) -> UPath:
    """The checkpoint of so many batches with a snapshot each, of which these are committed."""
    made = begin(folder)
    for batch in range(batches):
        snapshot(folder / "state/0/0", batch + 1, OLD, *(sst.format(batch) for sst in ssts))
    for batch in commits:
        commit(made, batch, OLD)
    return made


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def store(tmp_path) -> Path:
    return tmp_path / "state" / "0" / "0"


def test_what_the_kept_batches_need_stays_and_the_rest_goes_with_its_checksums(tmp_path, store):
    folder = written(tmp_path, 6, "shared.sst", "{}.sst", commits=range(4, 6))
    assert purge(Checkpoint(folder), slack=3) == 8
    assert names(store) == {
        *("5_0a.zip", ".5_0a.zip.crc", "6_0a.zip", ".6_0a.zip.crc"),
        *("shared.sst", ".shared.sst.crc", "4.sst", ".4.sst.crc", "5.sst", ".5.sst.crc"),
    }
    assert Integrity(Checkpoint(folder)).restorable_batches == [4, 5]


def test_it_waits_until_there_is_enough_to_remove(tmp_path, store):
    folder = written(tmp_path, 6, "shared.sst", commits=range(3, 6))
    assert purge(Checkpoint(folder), slack=3) == 0
    assert purge(Checkpoint(folder), slack=2) == 3


def test_a_snapshot_of_another_attempt_goes(tmp_path, store):
    """Version 2 was written twice."""
    folder = begin(tmp_path)
    for version, unique in ((1, OLD), (2, OLD), (2, NEW)):
        snapshot(store, version, unique, f"{version}{unique}.sst")
    commit(folder, 0, OLD)
    commit(folder, 1, NEW)
    assert purge(Checkpoint(folder), slack=-1) == 2
    assert {name for name in names(store) if not name.startswith(".")} == {
        *("1_0a.zip", "2_0b.zip", "10a.sst", "20b.sst")
    }


def test_a_delta_stays_while_a_kept_version_builds_on_it(tmp_path, store):
    folder = begin(tmp_path)
    store.mkdir(parents=True)
    for version in range(1, 10):
        (store / f"{version}.delta").write_text("")
    for version in (3, 6):
        (store / f"{version}.snapshot").write_text("")
    for batch in (6, 7):
        commit(folder, batch, None)
    purge(Checkpoint(folder), slack=0)
    assert names(store) == {"6.snapshot", "6.delta", "7.delta", "8.delta", "9.delta"}


def test_where_a_kept_snapshot_is_torn_its_files_are_left_alone(tmp_path, store):
    folder = written(tmp_path, 3, "{}.sst", commits=(2,))
    (store / "3_0a.zip").write_bytes(b"PK")
    assert purge(Checkpoint(folder), slack=0) == 2
    assert {"0.sst", "1.sst", "2.sst"} <= names(store)


def test_without_a_commit_or_a_store_there_is_nothing_to_purge(tmp_path, store):
    folder = begin(tmp_path)
    assert purge(Checkpoint(folder), slack=0) == 0
    snapshot(store, 1, OLD, "1.sst")
    plan_batch(folder, 0, {0: 1})
    assert purge(Checkpoint(folder), slack=0) == 0, "its batch is planned: it runs again"


def test_what_the_next_run_wrote_while_the_holder_slept_stays(tmp_path, store):
    """On an object store a lease expires; the files were listed before it was asked again."""
    folder = written(tmp_path, 3, "{}.sst", commits=(2,))

    def asleep():
        snapshot(store, 4, NEW, "next.sst")

    assert purge(Checkpoint(folder), slack=0, confirm=asleep) == 4
    assert {"3_0a.zip", "2.sst", "4_0b.zip", "next.sst"} <= names(store)


def test_nothing_goes_where_the_lease_is_lost(tmp_path, store):
    folder = written(tmp_path, 3, "{}.sst", commits=(2,))
    before = names(store)

    def lost():
        raise RuntimeError("the lease is lost")

    with pytest.raises(RuntimeError):
        purge(Checkpoint(folder), slack=0, confirm=lost)
    assert names(store) == before


@pytest.mark.parametrize("torn", ["", "v2", "v2\n{"])
def test_snapshots_of_a_batch_whose_commit_is_torn_stay(tmp_path, store, torn):
    folder = written(tmp_path, 3, "{}.sst", commits=range(3))
    snapshot(store, 2, NEW)
    (folder / "commits" / "1").write_text(torn)
    purge(Checkpoint(folder), slack=-1)
    assert {"1_0a.zip", "2_0a.zip", "2_0b.zip", "3_0a.zip"} <= names(store)


def test_a_version_after_the_last_commit_stays(tmp_path, store):
    folder = written(tmp_path, 3, "{}.sst", commits=(1,))
    purge(Checkpoint(folder), slack=0)
    assert {"2_0a.zip", "3_0a.zip"} <= names(store), "an attempt that may be repeated"
