"""Seen: what a file had when it was read. It is replaced only while it has that.

Who holds a lease may sleep for longer than it lasts, between any look at it and the write behind.
What the next holder has written then stays: a store compares the object's tag in the put itself
(If-Match, If-None-Match). On a disk the kernel lets nobody come late, and the text is compared.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store

from spark_jobs.storage.object_store import client
from spark_jobs.storage.root.files import write_whole
from spark_jobs.storage.root.path_forms import delta_path, disk_path
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from upath import UPath


class Seen(NamedTuple):
    """A file, as it was read."""

    text: str | None
    """None: there was none. Bytes that are no UTF-8 are escaped."""
    tag: UpdateVersion | None = None
    """The object's, on a store."""


ABSENT = Seen(None)
MARK = "sluice-writer"
"""Where an object has its writer's mark, also by the Java classes."""


def look(path: UPath) -> Seen:
    """What is there now."""
    try:
        if not is_remote(str(path)):
            return Seen(_decoded(path.read_bytes()))
        answer = obstore.get(client(delta_path(path.parent)), path.name)
        return Seen(_decoded(bytes(answer.bytes())), _tag(answer.meta))
    except FileNotFoundError:
        return ABSENT


def put_over(path: UPath, seen: Seen, text: str, *, alone: bool, mark: str = "") -> Seen:
    """Write the file over what was seen. Raises FileExistsError if that is there no more.

    A client repeats a put whose answer was lost, and the store refuses the repetition: so what has
    the same text counts as written. `alone`: the caller's lease keeps others from a file on a disk.
    `mark`: of its writer, which S3 keeps beside the content (spark_jobs/java/sluice/store).
    """
    if not is_remote(str(path)):
        if look(path) not in {seen, Seen(text)}:
            raise FileExistsError(path)
        if alone:
            write_whole(path, text)
        else:
            _put_beside_others(path, seen, text)
        return Seen(text)
    store = client(delta_path(path.parent))
    more: Any = {"attributes": {MARK: mark}} if mark and isinstance(store, S3Store) else {}
    mode: Any = "create" if seen.tag is None else seen.tag
    try:
        made = obstore.put(store, path.name, text.encode(), mode=mode, **more)
    except (AlreadyExistsError, PreconditionError, FileNotFoundError):
        if (now := look(path)).text != text:
            raise FileExistsError(path) from None
        return now
    return Seen(text, _tag(made))


def _put_beside_others(path: UPath, seen: Seen, text: str) -> None:
    """Of several on a disk that no lease keeps apart, one puts the file: the others raise
    FileExistsError.
    """
    if seen.text is None:
        partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
        try:
            partial.write_text(text)
            os.link(disk_path(partial), disk_path(path))
        finally:
            partial.unlink(missing_ok=True)
        return
    try:
        with disk_path(path).open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who has the lock of a file that another has replaced finds the other's.
            if look(path) != seen:
                raise FileExistsError(path)
            write_whole(path, text)
    except (BlockingIOError, FileNotFoundError):
        raise FileExistsError(path) from None


def _decoded(content: bytes) -> str:
    return content.decode(errors="surrogateescape")


def _tag(about: Any) -> UpdateVersion:  # Any: a put's result or an object's meta, by their stubs
    tag: UpdateVersion = {"e_tag": about["e_tag"]}
    if version := about.get("version"):
        tag["version"] = version
    return tag
