"""Folders moved and copied: on a disk by the operating system, on an object store, which has none, object by object.

Moving is copying and removing there, and may be cut off at any object. So what is to be moved is noted first, beside the
checkpoint, and the note goes last: where there is one, no run begins, and the same command goes on.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contract.files import write_whole
from spark_jobs.contract.store import is_remote, is_s3

if TYPE_CHECKING:
    from upath import UPath

Move = tuple["UPath", "UPath"]
"""From where, to where."""


def move(moves: list[Move], note: UPath) -> tuple[str, ...]:
    """Do them all; what was done, a line each. Whatever was done before is not done again."""
    if not is_remote(str(note)):
        for old, new in moves:
            old.rename(new)
        return ()
    write_whole(note, json.dumps([[str(old), str(new)] for old, new in moves]))
    said = tuple(_moved(old, new) for old, new in moves)
    note.unlink()
    return said


def begun(note: UPath) -> list[Move]:
    """The moves of which a note is left: they were cut off."""
    if not is_remote(str(note)) or not note.exists():
        return []
    return [(note.with_segments(old), note.with_segments(new)) for old, new in json.loads(note.read_text())]


def copy(old: UPath, new: UPath) -> int:
    """Copy all that is under one to the other; how many objects were. What is there already, of the same size, is left."""
    if not is_remote(str(old)):
        shutil.copytree(Path(str(old)), Path(str(new)))
        return 0
    there = {name.removeprefix(new.path): size for name, size in _objects(new).items()}
    waiting = [name for name, size in _objects(old).items() if there.get(name.removeprefix(old.path)) != size]
    for name in waiting:
        old.fs.copy(name, new.path + name.removeprefix(old.path))
    return len(waiting)


def set_aside(path: UPath, into: UPath) -> None:
    """Move one file into a folder, which is made."""
    if not is_remote(str(path)):
        into.mkdir(parents=True, exist_ok=True)
        path.rename(into / path.name)
        return
    path.fs.copy(path.path, (into / path.name).path)
    path.unlink()


def _moved(old: UPath, new: UPath) -> str:
    copied, waiting = copy(old, new), list(_objects(old))
    if waiting:
        old.fs.rm(waiting)
    _remove_marks(old)
    return f"copied {copied} objects of {old} to {new}, and removed {len(waiting)} there"


def _remove_marks(folder: UPath) -> None:
    """Hadoop puts an empty object where it has made a folder, which fsspec neither lists nor removes."""
    if not is_s3(str(folder)):
        return
    bucket, _, prefix = folder.path.partition("/")
    asked: dict[str, str] = {"Bucket": bucket, "Prefix": f"{prefix}/"}
    while True:
        found = folder.fs.call_s3("list_objects_v2", **asked)
        for each in found.get("Contents", ()):
            if each["Key"].endswith("/"):
                folder.fs.call_s3("delete_object", Bucket=bucket, Key=each["Key"])
        if not found.get("IsTruncated"):
            return
        asked["ContinuationToken"] = found["NextContinuationToken"]


def _objects(folder: UPath) -> dict[str, int]:
    """Path -> size in bytes, of every object under it."""
    found = folder.fs.find(folder.path, detail=True)
    return {name: int(about["size"]) for name, about in found.items()}
