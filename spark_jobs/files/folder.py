"""Folder: which files are there, on a disk or in an object store, and their bytes."""

from __future__ import annotations

import hashlib
import io
import os
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG
from typing import IO, TYPE_CHECKING, Final, NamedTuple, NoReturn, cast

from spark_jobs.errors import FilesUnfit
from spark_jobs.files.noted import EPOCH, MILLISECOND
from spark_jobs.storage.root.store import is_remote, is_s3, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

    from spark_jobs.spec import Files

HIDDEN: Final = (".", "_")
"""What begins so is no file of records, as in Hadoop."""
BLOCK: Final = 1 << 20
"""Bytes that are read at once."""


class There(NamedTuple):
    """A file as it is now."""

    name: str
    size: int
    changed: int
    """Milliseconds since 1970."""
    tag: str
    inode: int = 0
    """A disk's own number of the file, which stays when it is renamed; 0 in an object store."""


def folder_of(declared: Files, root: str) -> UPath:
    """The folder. Raises FilesUnfit for a store that is not the root's."""
    if is_remote(declared.path) and not is_s3(root):
        raise FilesUnfit.other_store(path=declared.path, root=root)
    return opened(declared.path.rstrip("/") or "/")


def listed(folder: UPath, declared: Files) -> tuple[dict[str, There], set[str]]:
    """Name -> each file that is declared, sorted by name; and the names of all that is there, for
    markers. Raises FilesUnfit if there is no folder.
    """
    if not is_remote(str(folder)) and not folder.is_dir():
        raise FilesUnfit.absent(path=folder)
    every, found = set[str](), dict[str, There]()
    for name, about in sorted(_below(folder)):
        every.add(name)
        *_, own = parts = name.split("/")
        hidden = any(part.startswith(HIDDEN) for part in parts)
        if not hidden and fnmatchcase(name, declared.names) and not _marks(own, declared):
            found[name] = about
    return found, every


def _marks(name: str, declared: Files) -> bool:
    return bool(declared.marker) and fnmatchcase(name, declared.marker)


def _below(folder: UPath) -> Iterator[tuple[str, There]]:
    if is_remote(str(folder)):
        top = folder.path.rstrip("/") + "/"
        for path, about in folder.fs.find(folder.path, detail=True).items():
            if (name := path.removeprefix(top)) and not path.endswith("/"):
                changed = _millis(about["LastModified"])
                yield name, There(name, int(about["size"]), changed, str(about.get("ETag", "")))
        return
    for above, _, names in os.walk(str(folder), onerror=_refuse_unseen):
        for each in names:
            path = Path(above) / each
            name = path.relative_to(str(folder)).as_posix()
            if name.encode(errors="ignore").decode() != name:
                raise FilesUnfit.unreadable(name=name, path=folder, error="its name is no UTF-8")
            if about := _on_disk(path, name):
                yield name, about


def _on_disk(path: Path | UPath, name: str) -> There | None:
    """None if it is gone or is no file. Raises FilesUnfit if nobody can tell."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FilesUnfit.unreadable(
            name=name, path=path.parent, error=error.strerror or error
        ) from None
    if not S_ISREG(found.st_mode):
        return None
    return There(name, found.st_size, found.st_mtime_ns // 1_000_000, "", found.st_ino)


def _refuse_unseen(error: OSError) -> NoReturn:
    """What is in such a folder nobody knows: it is not gone."""
    path = Path(str(error.filename))
    raise FilesUnfit.unreadable(name=path.name, path=path.parent, error=error.strerror or error)


def _millis(at: datetime) -> int:
    return (at - EPOCH) // MILLISECOND


def there(folder: UPath, name: str) -> There | None:
    """One file as it is now; None if it is gone."""
    path = folder / name
    if not is_remote(str(folder)):
        return _on_disk(path, name)
    try:
        about = path.fs.info(path.path)
    except FileNotFoundError:
        return None
    changed = _millis(about["LastModified"])
    return There(name, int(about["size"]), changed, str(about.get("ETag", "")))


def file_at(folder: UPath, name: str) -> IO[bytes]:
    """The file, to be read and closed. Raises FilesUnfit if it cannot be read."""
    try:
        return cast("IO[bytes]", io.BufferedReader((folder / name).open("rb"), BLOCK))
    except (FileNotFoundError, NotADirectoryError):
        raise FilesUnfit.went(name=name, path=folder) from None
    except OSError as error:
        raise FilesUnfit.unreadable(name=name, path=folder, error=error.strerror or error) from None


def digests(folder: UPath, name: str, *ends: int) -> list[str]:
    """SHA-256 of the file's first bytes, up to each of these ends, which ascend."""
    found, made, at = list[str](), hashlib.sha256(), 0
    with file_at(folder, name) as file:
        for end in ends:
            while at < end and (block := file.read(min(BLOCK, end - at))):
                made.update(block)
                at += len(block)
            found.append(made.hexdigest())
    return found
