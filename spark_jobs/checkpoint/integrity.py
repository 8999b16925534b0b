"""Integrity: which files of a checkpoint are damaged or missing, and to which batches it can be
rewound. Without Spark.

The logs and the commits tell which files must exist: the entries of a log have consecutive numbers,
and each commit names the state files of its batch (CommitMetadata.stateUniqueIds, state checkpoint
format 2).
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken, versions

if TYPE_CHECKING:
    from upath import UPath

MISSING = "is missing"
HEADER = 8
"""Bytes before the sums of a checksum file: `crc`, a version, and the number of bytes that each sum
covers.
"""


def find_damage(path: UPath) -> str:
    """What is wrong with one file, as words that follow its name; empty if nothing is."""
    if not path.exists():
        return MISSING
    content = path.read_bytes()
    if not content:
        return "is empty"
    return _check_checksum(path, content) or _check_format(path, content)


def corrupt_ssts(snapshot: UPath) -> Iterator[tuple[UPath, str]]:
    """Each SST file of a snapshot that is missing or of another size than the snapshot records, and
    what is wrong with it.
    """
    for path, size in sst_files(snapshot):
        if not path.exists():
            yield path, MISSING
        elif path.stat().st_size != size:
            yield path, f"has {path.stat().st_size} bytes, but its snapshot records {size}"


def sst_files(snapshot: UPath) -> list[tuple[UPath, int]]:
    """The SST files that a snapshot needs, with their sizes in bytes."""
    with snapshot.open("rb") as opened, zipfile.ZipFile(opened) as file:
        metadata = json.loads(file.read("metadata").decode().splitlines()[1])
    return [
        (snapshot.parent / "SSTs" / sst["dfsSstFileName"], int(sst["sizeBytes"]))
        for sst in metadata["sstFiles"]
    ]


def _check_checksum(path: UPath, content: bytes) -> str:
    checksum = path.with_name(f".{path.name}.crc")
    raw = checksum.read_bytes() if checksum.exists() else b""
    if len(raw) < HEADER or not raw.startswith(b"crc\0"):
        # there is none, as on an object store, or it is torn itself: the other two sources decide
        return ""
    (size,) = struct.unpack(">I", raw[4:HEADER])
    sums = (len(raw) - HEADER) // 4
    expected = struct.unpack(f">{sums}I", raw[HEADER : HEADER + 4 * sums])
    for number, block_sum in enumerate(expected):
        if number * size >= len(content):
            return f"ends after {len(content)} bytes, and more were written"
        if zlib.crc32(content[number * size : (number + 1) * size]) != block_sum:
            return f"is not what was written, from byte {number * size} on"
    return "is longer than what was written" if len(content) > len(expected) * size else ""


def _check_format(path: UPath, content: bytes) -> str:
    try:
        if path.parent.name in {"offsets", "commits"}:
            _, metadata, *_ = content.decode().splitlines()
            json.loads(metadata)
        elif path.name == "metadata" and path.parent.name != "_metadata":
            json.loads(content)["id"]
    except (ValueError, KeyError):
        return "does not parse"
    return (
        "is no whole zip file"
        if path.suffix == ".zip" and not zipfile.is_zipfile(io.BytesIO(content))
        else ""
    )


class Integrity:
    """The damage of one checkpoint. Reads every file once; writes nothing."""

    def __init__(self, checkpoint: Checkpoint, *, stateful: bool = True) -> None:
        """`stateful`: whether a step keeps state. Else only the logs must be whole."""
        self._checkpoint = checkpoint
        self._stateful = stateful
        self._folder = checkpoint.folder

    @cached_property
    def damage(self) -> dict[UPath, str]:
        """File -> what is wrong with it, as words that follow its name."""
        damage = {path: reason for path in _files(self._folder) if (reason := find_damage(path))}
        damage |= {path: MISSING for path in self._missing_entries() if not path.exists()}
        oldest = self._oldest_batches()
        unknown = max(oldest.values(), default=0)
        for batch in self._checkpoint.committed():
            damage |= {
                path: MISSING
                for path in self.state_files(batch)
                if batch >= oldest.get(path.parent, unknown) and not path.exists()
            }
        damage |= {
            path: reason
            for snapshot in self._folder.glob("state/*/*/*.zip")
            if snapshot not in damage
            for path, reason in corrupt_ssts(snapshot)
            if path not in damage
        }
        return damage

    @cached_property
    def restorable_batches(self) -> list[int]:
        """Ids of the committed batches to whose end the checkpoint can be rewound, ascending."""
        if any(path.parent.name == "_metadata" for path in self.damage):
            return []
        known, logs = {*self._checkpoint.planned()}, self._checkpoint.committed()
        there = self._checkpoint.readable() if self._stateful else [n for n in logs if n in known]
        return [batch for batch in there if self._is_restorable(batch)]

    def _oldest_batches(self) -> dict[UPath, int]:
        """State store -> the oldest batch that it must have: Spark may have purged older ones, in
        each store by its own count. Those without a version are left out.
        """
        found = {
            store: versions(store)
            for store in self._folder.glob("state/*/*")
            if store.name.isdigit()
        }
        return {store: min(kept) - 1 for store, kept in found.items() if kept}

    def _is_restorable(self, batch: int) -> bool:
        logs = [self._folder / log / str(batch) for log in ("offsets", "commits")]
        previous = [self._folder / "offsets" / str(batch - 1)] if batch else []
        if any(path in self.damage for path in (*logs, *previous)):
            return False
        return all(self._is_restorable_state(path) for path in self.state_files(batch))

    def _is_restorable_state(self, path: UPath) -> bool:
        """Whether a snapshot has its SST files, or a delta has every file that it builds on."""
        if path in self.damage or not path.exists():
            return False
        if path.suffix == ".zip":
            return not any(sst in self.damage for sst, _ in sst_files(path))
        if path.suffix == ".snapshot" or path.stem == "1":
            return True
        return self._is_restorable_state(_version(path.parent, int(path.stem) - 1))

    def _missing_entries(self) -> Iterator[UPath]:
        """Log entries that must exist: each from the first of its log to the newest batch; the
        newest needs no commit.
        """
        planned, committed = self._checkpoint.planned(), self._checkpoint.committed()
        newest = max([*planned, *committed], default=-1)
        yield from (
            self._folder / "offsets" / str(batch)
            for batch in range(min(planned, default=0), newest + 1)
        )
        yield from (
            self._folder / "commits" / str(batch)
            for batch in range(min(committed, default=newest), newest)
        )
        if newest >= 0:
            yield self._folder / "metadata"

    def state_files(self, batch: int) -> Iterator[UPath]:
        """The file of each state store that holds the state after a batch.

        Its version is the batch id plus one.
        """
        commit = self._folder / "commits" / str(batch)
        if find_damage(commit):
            return
        unique_ids = json.loads(commit.read_text().splitlines()[1]).get("stateUniqueIds") or {}
        for operator, partitions in unique_ids.items():
            for partition, (unique, *_) in enumerate(partitions):
                yield (
                    self._folder / "state" / operator / str(partition) / f"{batch + 1}_{unique}.zip"
                )
        if not unique_ids:
            stores = (path for path in self._folder.glob("state/*/*") if path.name.isdigit())
            yield from (_version(store, batch + 1) for store in stores)


def refuse_damaged_logs(checkpoint: Checkpoint, pipeline: str) -> None:
    """Raise CheckpointBroken if a log entry from which Spark resumes is torn, changed or
    missing.
    """
    planned, committed = checkpoint.planned(), checkpoint.committed()
    newest = max([*planned, *committed], default=-1)
    if newest < 0:
        return
    needed = [
        checkpoint.folder / "offsets" / str(batch)
        for batch in (newest - 1, newest)
        if batch >= min(planned, default=0)
    ]
    needed += [checkpoint.folder / "commits" / str(batch) for batch in committed[-1:]]
    for path in (checkpoint.folder / "metadata", *needed):
        if reason := find_damage(path):
            raise checkpoint_broken(f"{path} {reason}", pipeline)


def refuse_missing_state(checkpoint: Checkpoint, pipeline: str, batch: int) -> None:
    """Raise CheckpointBroken if a state file that the batch's commit names is not there.

    For those who read the state with Spark's source. It reads the stores whose folders it finds:
    where those with the largest numbers are gone, it yields the others without an error.
    """
    for path in Integrity(checkpoint).state_files(batch):
        if not path.exists():
            raise checkpoint_broken(f"{path} {MISSING}", pipeline)


def remove_orphan_checksums(checkpoint: Checkpoint) -> None:
    """Remove checksums of log entries that do not exist.

    `rm commits/7` leaves one: Spark could not write that entry again.
    """
    for log in ("offsets", "commits"):
        for path in [*(checkpoint.folder / log).glob(".*.crc")]:
            if not path.with_name(path.name[1 : -len(".crc")]).exists():
                path.unlink()


def _files(folder: UPath) -> Iterator[UPath]:
    return (
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    )


def _version(store: UPath, version: int) -> UPath:
    snapshots = sorted(store.glob(f"{version}_*.zip")) + sorted(store.glob(f"{version}.snapshot"))
    return snapshots[0] if snapshots else store / f"{version}.delta"
