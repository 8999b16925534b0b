"""Lease: allows one process to write a pipeline's checkpoint and table. It ends with that process.

On a disk it is a file lock, which the kernel releases. On an object store it is an object that
expires (object_lease.py).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.file_system import refuse_local_locks
from spark_jobs.errors import LeaseHeld, LeaseLost
from spark_jobs.messages.kind import Kind
from spark_jobs.source.positions import Positions
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.checkpoint.object_lease import ObjectLease

OF_A_STORE = "spark_jobs.checkpoint.object_lease:ObjectLease"
"""Loaded by name: a disk needs no client of an object store."""

LOCK_WAIT_SECONDS = 0.3
"""How long to try to get the file lock: `holder` takes it for an instant."""


@contextmanager
def lease(path: UPath, run_id: str) -> Iterator[Held]:
    """Hold the lease at `path` within the block. Raises LeaseHeld, which names the holder."""
    if is_local(path):
        refuse_local_locks(path.parent)
        with _locked_file(path, run_id) as held:
            yield held
        return
    object_lease: ObjectLease = resolve_name(OF_A_STORE)(path, run_id)
    object_lease.take()
    try:
        yield object_lease
    finally:
        object_lease.release()


def is_local(path: UPath) -> bool:
    """Whether `path` is on a disk, where files can be locked."""
    return path.protocol in {"", "file", "local"}


class FileLock:
    """A lock on a file, which has `content`.

    The kernel gives it to no other process while this one lives. An NFS server that a partition has
    parted from this machine does so when the time of the client's own lease is over.
    """

    fence = 0
    told: Mapping[str, str] = MappingProxyType({})

    def __init__(self, path: UPath, descriptor: int, content: bytes) -> None:
        self.path = path
        self._descriptor = descriptor
        self._content = content

    def confirm(self) -> None:
        """Raise LeaseLost if the lock is another's, or was another's since; if the file cannot be
        read, or is no longer the one at the path.

        The lock is asked for again, which changes nothing where it is held. On NFS that makes the
        client forget what it has read of the file, so the content is the server's.
        """
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.pread(self._descriptor, len(self._content) + 1, 0)
            same = os.path.samestat(os.fstat(self._descriptor), os.stat(str(self.path)))  # noqa: PTH116 - a UPath's stat is no os.stat_result
        except OSError as error:
            raise self._lost(f"cannot be read: {error.strerror}") from None
        if not same:
            raise self._lost("is another file than the one that was locked")
        if found != self._content:
            raise self._lost(f"is of {_describe_holder(self.path)}")

    def _lost(self, how: str) -> LeaseLost:
        return LeaseLost.lock_lost(path=self.path, how=how)


@contextmanager
def _locked_file(path: UPath, run_id: str) -> Iterator[FileLock]:
    """Hold the file lock within the block. Raises LeaseHeld after LOCK_WAIT_SECONDS, and LeaseLost
    if its folder is gone: a rebuild was discarded meanwhile.

    An flock belongs to the open file, so it ends with the process, however that ends: a stale lease
    is impossible.
    """
    try:
        descriptor = os.open(str(path), os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        raise LeaseLost.lock_lost(path=path, how="went with its folder") from None
    try:
        if not _try_lock(descriptor):
            raise LeaseHeld.held_by_drain(folder=path.parent, holder=_describe_holder(path))
        os.ftruncate(descriptor, 0)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        content = json.dumps(
            {
                "run_id": run_id,
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "started_at": started,
                "token": uuid.uuid4().hex,  # two runs may have all else in common
            }
        ).encode()
        os.pwrite(descriptor, content, 0)
        yield FileLock(path, descriptor, content)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    """Tries for LOCK_WAIT_SECONDS: `holder` in another process has it for an instant."""
    until = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(LOCK_WAIT_SECONDS / 10)
        else:
            return True


def holder(path: UPath) -> str | None:
    """The run, process and host that hold the lease now, as text; None if it is free.

    Does not block others from taking it.
    """
    if not is_local(path):
        object_lease: ObjectLease = resolve_name(OF_A_STORE)(path, "")
        return object_lease.holder()
    if not path.exists():
        return None
    with open(str(path), "rb") as file:  # noqa: PTH123 - flock needs a real descriptor
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _describe_holder(path)
    return None


def _describe_holder(path: UPath) -> str:
    try:
        writer = json.loads(path.read_text())
        return (
            f"run {writer['run_id']} (process {writer['pid']} on {writer['host']}, since "
            f"{writer['started_at']})"
        )
    except (ValueError, KeyError):
        return "another run that has not written its name yet"


class Begun(Stored):
    """The content of running.json."""

    kind: Kind
    run_id: str
    started_at: datetime
    pid: int
    host: str
    begins: Positions | None = None
    """From where it is read where no batch has read any; None until the run knows."""
    ends: Positions | None = None
    """Up to where this run reads; None likewise."""

    def is_of(self, other: Begun) -> bool:
        """Whether both are of one run, whatever it knew."""
        plain = {"begins": None, "ends": None}
        return self.model_copy(update=plain) == other.model_copy(update=plain)
