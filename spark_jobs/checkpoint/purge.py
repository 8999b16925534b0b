"""Purge: removes the state files that no committed batch of the checkpoint needs.

Spark's own maintenance does it for the stores that are loaded, and wakes after 60 seconds: runs
that are shorter never purge. Nobody may write the checkpoint meanwhile: callers hold the lease, and
their query has ended.

RocksDB (RocksDBFileManager): `<version>_<id>.zip` is a snapshot, which names its files in `SSTs`. A
commit names the snapshot of its batch; another of that version is of an attempt that did not count.
HDFS (HDFSBackedStateStoreProvider): a version is `<version>.snapshot`, or its `.delta` over the
version before.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.integrity import sst_files
from spark_jobs.checkpoint.log import Checkpoint, versions

if TYPE_CHECKING:
    from upath import UPath

SLACK = 30
"""Versions that nobody needs, before it is worth to look at every file: as many as Spark lets come
together (minVersionsToDelete).
"""


def purge(
    checkpoint: Checkpoint, slack: int = SLACK, *, confirm: Callable[[], None] = lambda: None
) -> int:
    """Remove what no committed batch needs, and return the number of files.

    Do nothing while no store has more than `slack` versions too many.

    `confirm` raises if the lease is lost. All files are listed before it is called, and nothing is
    removed that was not listed: a holder that slept takes nothing of the next run's.
    """
    committed = checkpoint.committed()
    stores = [path for path in checkpoint.folder.glob("state/*/*") if path.name.isdigit()]
    if not committed or not stores or _surplus(min(stores, key=_number), committed) <= slack:
        return 0
    counted = {batch + 1: _unique_ids(checkpoint, batch) for batch in committed}
    listed = [path for store in stores for path in _unneeded(store, counted)]
    confirm()
    for path in listed:
        _remove(path)
    return len(listed)


def _surplus(store: UPath, committed: list[int]) -> int:
    """Each step's first store has a version of every batch, so one stands for all. Others may be of
    a time when there were more stores.
    """
    return len(versions(store) - {batch + 1 for batch in committed})


def _number(store: UPath) -> int:
    return int(store.name)


def _unique_ids(checkpoint: Checkpoint, batch: int) -> set[str]:
    try:
        commit = (checkpoint.folder / "commits" / str(batch)).read_text().splitlines()[1]
        ids = json.loads(commit).get("stateUniqueIds") or {}
    except (IndexError, ValueError):  # doctor's affair: nobody knows which of them counts
        return set()
    return {unique for stores in ids.values() for partition in stores for unique in partition}


def _unneeded(store: UPath, counted: dict[int, set[str]]) -> list[UPath]:
    """Snapshots first: one without its SST files would be damaged, an SST file more is only left
    for the next purge.
    """
    ssts = [*(store / "SSTs").glob("*.sst")]  # before the snapshots that may name them
    files = [*store.iterdir()]
    stale = [path for path in files if _is_stale(path, store, counted)]
    kept = [path for path in files if path.suffix == ".zip" and path not in stale]
    try:
        needed = {sst.name for path in kept for sst, _ in sst_files(path)}
    except (zipfile.BadZipFile, KeyError, ValueError):  # doctor's affair: nobody knows its files
        return stale
    return stale + [path for path in ssts if path.name not in needed]


def _is_stale(path: UPath, store: UPath, counted: dict[int, set[str]]) -> bool:
    number, _, unique = path.stem.partition("_")
    if path.name.startswith(".") or not number.isdigit():
        return False
    version = int(number)
    if version > max(counted):  # an attempt that may be repeated
        return False
    if path.suffix == ".zip":
        ids = counted.get(version)
        return ids is None or bool(ids and unique not in ids)
    return path.suffix in {".delta", ".snapshot"} and version < _oldest_needed(store, min(counted))


def _oldest_needed(store: UPath, version: int) -> int:
    snapshots = (int(path.stem) for path in store.glob("*.snapshot"))
    return max((number for number in snapshots if number <= version), default=0)


def _remove(path: UPath) -> None:
    path.unlink(missing_ok=True)  # Spark's maintenance thread may still be at work
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
