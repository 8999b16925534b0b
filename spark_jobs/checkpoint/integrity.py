"""Integrity: which files of a checkpoint are damaged or missing, and which batches it still holds whole. Without Spark.

What must be there is told by the logs, which follow one another without a gap, and by the commits, which name the state files
of their batch (CommitMetadata.stateUniqueIds, of state checkpoint format 2). What is wrong with a file: damage.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.file_check import MISSING, damaged, sst_files, wrong_ssts
from spark_jobs.checkpoint.log import Checkpoint, broken, versions

if TYPE_CHECKING:
    from upath import UPath

class Integrity:
    """What is damaged in a checkpoint. Reads all of it once; writes nothing."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._folder = checkpoint.folder

    @cached_property
    def damage(self) -> dict[UPath, str]:
        """File -> what is wrong with it, in words that follow its name."""
        found = {path: reason for path in _files(self._folder) if (reason := damaged(path))}
        found |= {path: MISSING for path in self._gaps() if not path.exists()}
        kept = self._kept_since()
        for batch in self._checkpoint.committed():
            found |= {path: MISSING for path in self._state_files(batch) if batch >= kept and not path.exists()}
        found |= {path: reason for snapshot in self._folder.glob("state/*/*/*.zip") if snapshot not in found
                  for path, reason in wrong_ssts(snapshot) if path not in found}
        return found

    @cached_property
    def whole(self) -> list[int]:
        """Committed batches to whose end one can go back, ascending."""
        if any(path.parent.name == "_metadata" for path in self.damage):
            return []
        return [batch for batch in self._checkpoint.readable() if self._is_whole(batch)]

    def _kept_since(self) -> int:
        """The oldest batch that every store should have: what is older may have been purged."""
        stores = [store for store in self._folder.glob("state/*/*") if store.name.isdigit()]
        return max((min(versions(store), default=0) - 1 for store in stores), default=0)

    def _is_whole(self, batch: int) -> bool:
        logs = [self._folder / log / str(batch) for log in ("offsets", "commits")]
        before = [self._folder / "offsets" / str(batch - 1)] if batch else []
        if any(path in self.damage for path in (*logs, *before)):
            return False
        return all(self._is_whole_state(path) for path in self._state_files(batch))

    def _is_whole_state(self, path: UPath) -> bool:
        """A snapshot with its SST files; or a delta, with all that it goes on from."""
        if path in self.damage or not path.exists():
            return False
        if path.suffix == ".zip":
            return not any(sst in self.damage for sst, _ in sst_files(path))
        if path.suffix == ".snapshot" or path.stem == "1":
            return True
        return self._is_whole_state(_version(path.parent, int(path.stem) - 1))

    def _gaps(self) -> Iterator[UPath]:
        """Entries that must be there: of the logs from their first on, of the offsets as far as the commits go."""
        planned, committed = self._checkpoint.planned(), self._checkpoint.committed()
        newest = max([*planned, *committed], default=-1)
        yield from (self._folder / "offsets" / str(batch) for batch in range(min(planned, default=0), newest + 1))
        yield from (self._folder / "commits" / str(batch) for batch in range(min(committed, default=newest), newest))
        if newest >= 0:
            yield self._folder / "metadata"

    def _state_files(self, batch: int) -> Iterator[UPath]:
        """The file of each store that holds the state after a batch: its version is one more."""
        commit = self._folder / "commits" / str(batch)
        if damaged(commit):
            return
        named = json.loads(commit.read_text().splitlines()[1]).get("stateUniqueIds") or {}
        for operator, partitions in named.items():
            for partition, (unique, *_) in enumerate(partitions):
                yield self._folder / "state" / operator / str(partition) / f"{batch + 1}_{unique}.zip"
        if not named:
            stores = (path for path in self._folder.glob("state/*/*") if path.name.isdigit())
            yield from (_version(store, batch + 1) for store in stores)


def refuse_broken(checkpoint: Checkpoint, pipeline: str) -> None:
    """Raise CheckpointBroken where the newest entries of the logs, from which Spark goes on, are torn, changed or missing."""
    planned, committed = checkpoint.planned(), checkpoint.committed()
    newest = max([*planned, *committed], default=-1)
    if newest < 0:
        return
    needed = [checkpoint.folder / "offsets" / str(batch) for batch in (newest - 1, newest) if batch >= min(planned, default=0)]
    needed += [checkpoint.folder / "commits" / str(batch) for batch in committed[-1:]]
    for path in (checkpoint.folder / "metadata", *needed):
        if reason := damaged(path):
            raise broken(f"{path} {reason}", pipeline)


def drop_orphans(checkpoint: Checkpoint) -> None:
    """Remove checksums of log entries that are not there, as `rm commits/7` leaves them: Spark could not write it again."""
    for log in ("offsets", "commits"):
        for path in [*(checkpoint.folder / log).glob(".*.crc")]:
            if not path.with_name(path.name[1 : -len(".crc")]).exists():
                path.unlink()


def _files(folder: UPath) -> Iterator[UPath]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))


def _version(store: UPath, version: int) -> UPath:
    """Of a version, what is there: a snapshot before a delta; the delta's name where there is neither."""
    found = sorted(store.glob(f"{version}_*.zip")) + sorted(store.glob(f"{version}.snapshot"))
    return found[0] if found else store / f"{version}.delta"
