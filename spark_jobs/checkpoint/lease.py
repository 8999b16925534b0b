"""One writer for a pipeline's checkpoint and table: held by the process that writes, and gone when that dies.

On a disk it is a file lock, which the kernel releases; elsewhere an object with an expiry (object_lease.py).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from spark_jobs.contract.errors import LeaseHeld

if TYPE_CHECKING:
    from upath import UPath

PATIENCE_SECONDS = 0.3


class Held(Protocol):
    """A lease that is held."""

    def confirm(self) -> None:
        """Raise LeaseLost where it is held no longer: asked before anything is committed."""


@contextmanager
def lease(path: UPath, run_id: str) -> Iterator[Held]:
    """Hold the lease at `path` for the block. Raises LeaseHeld, naming the holder."""
    if is_local(path):
        with _locked_file(path, run_id):
            yield FileLock()
        return
    from spark_jobs.checkpoint.object_lease import ObjectLease  # noqa: PLC0415 - a disk needs no object store's client

    held = ObjectLease(path, run_id)
    held.take()
    try:
        yield held
    finally:
        held.release()


def is_local(path: UPath) -> bool:
    """Whether it lies on a disk, where files can be locked."""
    return path.protocol in {"", "file", "local"}


class FileLock:
    """The kernel lets nobody else have it while this process lives."""

    def confirm(self) -> None:
        """Nothing can have happened to it."""


@contextmanager
def _locked_file(path: UPath, run_id: str) -> Iterator[None]:
    """Raises LeaseHeld within PATIENCE_SECONDS.

    An flock belongs to the open file, so it goes with the process, however that ends: there is no stale lease.
    """
    descriptor = os.open(str(path), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _locked(descriptor):
            raise LeaseHeld(f"{path.parent} is being written by {_holder(path)}.",
                            "Wait for it to end, or stop it; never run two drains of one pipeline.")
        os.ftruncate(descriptor, 0)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        os.pwrite(descriptor, json.dumps(
            {"run_id": run_id, "pid": os.getpid(), "host": socket.gethostname(), "started_at": started}).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Try for PATIENCE_SECONDS: whoever asks for the holder shares the lock for an instant, and is none."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(PATIENCE_SECONDS / 10)
        else:
            return True


def holder(path: UPath) -> str | None:
    """Who holds the lease now, in words; None where nobody does. Keeps nobody from taking it."""
    if not is_local(path):
        from spark_jobs.checkpoint.object_lease import ObjectLease  # noqa: PLC0415 - as above

        return ObjectLease(path, "").holder()
    if not path.exists():
        return None
    with open(str(path), "rb") as file:  # noqa: PTH123 - flock needs a real descriptor
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(path)
    return None


def _holder(path: UPath) -> str:
    try:
        held = json.loads(path.read_text())
        return f"run {held['run_id']} (process {held['pid']} on {held['host']}, since {held['started_at']})"
    except (ValueError, KeyError):
        return "another run that has not said its name yet"
