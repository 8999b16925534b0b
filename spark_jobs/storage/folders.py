"""Copies and removes folders: on a disk by the operating system, on a store object by object.

There a copy may be cut off at any object: it is a step of a change (journal/), which is repeated.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.storage.root.path_forms import disk_path
from spark_jobs.storage.root.store import is_remote, is_s3
from spark_jobs.values.times import at_seconds

if TYPE_CHECKING:
    from upath import UPath

Confirm = Callable[[], None]
"""Raises LeaseLost if the lease is held no longer: another run may have written the objects since.
"""
OBJECTS_PER_REMOVAL = 1000
"""The largest number of objects that S3 removes in one request (DeleteObjects)."""


def copy(old: UPath, new: UPath, confirm: Confirm, wanted: Callable[[str], bool]) -> int:
    """Copy what is wanted of `old`, by its path below it, to `new`; the number of objects copied.

    Skips those that `new` has with the same size; on a disk, writes them again.

    On a store it confirms the lease before each object: one that slept for long copies
    nothing into what the next run has.
    """
    if not is_remote(str(old)):
        top = Path(str(old))

        def unwanted(folder: str, names: list[str]) -> list[str]:
            above = Path(folder).relative_to(top)
            return [name for name in names if not wanted((above / name).as_posix())]

        shutil.copytree(top, Path(str(new)), dirs_exist_ok=True, ignore=unwanted)
        os.sync()  # the copy is relied upon next, and all of it is seconds old
        return 0
    copied, there = _below(new), _below(old)
    waiting = [name for name in there if copied.get(name) != there[name] and wanted(name[1:])]
    for name in waiting:
        confirm()
        old.fs.copy(old.path + name, new.path + name)
    return len(waiting)


def newest_change(folder: UPath) -> datetime | None:
    """When a file directly in the folder was written last; None without one."""
    times = [path.stat().st_mtime for path in folder.iterdir() if path.is_file()]
    return at_seconds(max(times)) if times else None


def remove_folder(folder: UPath) -> None:
    """Remove the folder with all that is in it; nothing if it is gone."""
    if not is_remote(str(folder)):
        shutil.rmtree(disk_path(folder), ignore_errors=True)
        return
    waiting = list(_objects(folder))
    for first in range(0, len(waiting), OBJECTS_PER_REMOVAL):
        folder.fs.rm(waiting[first : first + OBJECTS_PER_REMOVAL])
    _remove_folder_markers(folder)


def files_before(folder: UPath | Path, time: datetime) -> list[UPath | Path]:
    """The files directly in the folder that were last written before `time`."""
    if not folder.exists():
        return []
    return [
        path
        for path in folder.iterdir()
        if path.is_file() and at_seconds(path.stat().st_mtime) < time
    ]


def remove_files(files: Iterable[UPath | Path]) -> None:
    """Remove them; one that is gone already is passed over."""
    for path in files:
        path.unlink(missing_ok=True)


def set_aside(path: UPath, into: UPath) -> None:
    """Move one file into the folder `into`, which is created if needed."""
    if not is_remote(str(path)):
        into.mkdir(parents=True, exist_ok=True)
        path.rename(into / path.name)
        return
    path.fs.copy(path.path, (into / path.name).path)
    path.unlink()


def _remove_folder_markers(folder: UPath) -> None:
    """Remove the empty objects that Hadoop puts for folders: with them the old folder would still
    seem to exist.
    """
    if not is_s3(str(folder)):
        return
    bucket, _, prefix = folder.path.partition("/")
    request: dict[str, str] = {"Bucket": bucket, "Prefix": f"{prefix}/"}
    while True:
        page = folder.fs.call_s3("list_objects_v2", **request)
        for entry in page.get("Contents", ()):
            if entry["Key"].endswith("/"):
                folder.fs.call_s3("delete_object", Bucket=bucket, Key=entry["Key"])
        if not page.get("IsTruncated"):
            return
        request["ContinuationToken"] = page["NextContinuationToken"]


def _below(folder: UPath) -> dict[str, int]:
    """The same by their paths below the folder, which begin with a slash."""
    return {name.removeprefix(folder.path): size for name, size in _objects(folder).items()}


def _objects(folder: UPath) -> dict[str, int]:
    """Path -> size in bytes of every object under the folder, without Hadoop's objects
    for folders.
    """
    objects = folder.fs.find(folder.path, detail=True)
    return {name: int(about["size"]) for name, about in objects.items() if not name.endswith("/")}
