"""Folders moved and copied: on a disk by the operating system, on an object store, which has none, object by object.

Moving is copying and removing there, and may be cut off at any object. So what is to be moved is noted first, beside the
checkpoint, and the note goes last: where there is one, no run begins, and the same command goes on.
"""

from __future__ import annotations

import json
import posixpath
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contract.errors import RootRefused
from spark_jobs.contract.files import write_whole
from spark_jobs.contract.store import is_remote, is_s3

if TYPE_CHECKING:
    from upath import UPath

Move = tuple["UPath", "UPath"]
"""From where, to where."""
Confirm = Callable[[], None]
"""Raises LeaseLost where the lease is held no longer: what is there may be another's by now."""
AT_ONCE = 1000
"""Objects that one request may remove."""


def move(moves: list[Move], note: UPath, confirm: Confirm) -> tuple[str, ...]:
    """Do them all; what was done, a line each. Whatever was done before is not done again.

    Raises RootRefused where the store leaves an object that it was asked to remove; the note stays then.
    """
    if not is_remote(str(note)):
        for old, new in moves:
            old.rename(new)
        return ()
    write_whole(note, json.dumps([[_name(path, note) for path in one] for one in moves]))
    said = tuple(_moved(old, new, confirm) for old, new in moves)
    note.unlink()
    return said


def begun(note: UPath) -> list[Move]:
    """The moves of which a note is left: they were cut off."""
    if not is_remote(str(note)) or not note.exists():
        return []
    return [(_named(old, note), _named(new, note)) for old, new in json.loads(note.read_text())]


def _name(path: UPath, note: UPath) -> str:
    """As the note has it: seen from the note, so that the note of a copied root is about the copy."""
    return posixpath.relpath(path.path, note.parent.path)


def _named(name: str, note: UPath) -> UPath:
    if "://" in name:  # it would be looked for beside the note, not be found, and count as moved
        raise RootRefused(f"{note}, the note of a reset that was cut off, is of an older version: it has {name}.",
                          "End that reset by the version that began it.")
    return note.with_segments(f"{note.protocol}://{posixpath.normpath(posixpath.join(note.parent.path, name))}")


def copy(old: UPath, new: UPath, confirm: Confirm) -> int:
    """Copy all that is under one to the other; how many objects were. What is there already, of the same size, is left.

    Before each object of a store the lease is confirmed: whoever was stopped for long, as a machine that slept, would copy what
    the next run has written since over what was kept.
    """
    if not is_remote(str(old)):
        shutil.copytree(Path(str(old)), Path(str(new)))
        return 0
    there = {name.removeprefix(new.path): size for name, size in _objects(new).items()}
    waiting = [name for name, size in _objects(old).items() if there.get(name.removeprefix(old.path)) != size]
    for name in waiting:
        confirm()
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


def _moved(old: UPath, new: UPath, confirm: Confirm) -> str:
    copied, waiting = copy(old, new, confirm), list(_objects(old))
    for first in range(0, len(waiting), AT_ONCE):
        confirm()
        old.fs.rm(waiting[first : first + AT_ONCE])
    _refuse_left(old, waiting)
    _remove_marks(old)
    return f"copied {copied} objects of {old} to {new}, and removed {len(waiting)} there"


def _refuse_left(folder: UPath, removed: list[str]) -> None:
    """Look again: a store may answer 200 to a removal, and say of single objects that it failed, which s3fs leaves out."""
    if left := sorted(_objects(folder).keys() & set(removed)):
        raise RootRefused(f"the object store left {len(left)} objects of {folder} where they are, though asked to remove them: "
                          f"{left[0]} is the first.",
                          "See that the bucket's policy allows s3:DeleteObject there and nothing locks them; the same command "
                          "then goes on.")


def _remove_marks(folder: UPath) -> None:
    """Hadoop puts an empty object where it has made a folder, which would make the old one look as if it were there."""
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
    """Path -> size in bytes, of every object under it; without what Hadoop marks folders by."""
    found = folder.fs.find(folder.path, detail=True)
    return {name: int(about["size"]) for name, about in found.items() if not name.endswith("/")}
