"""Place: where a worker of a root has its socket, its log and the lock of its starter.

A user's workers are in a folder of the temporary folder that only this user may enter. The root's
own folder would not do: the path of a socket may have MOST_PATH_BYTES. Another worker's socket may
have taken the place of this one's.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socket import socket

from spark_jobs.launch.warm.link import listening
from spark_jobs.storage.root.path_forms import own_folder

MOST_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Of a socket's path. Source: sun_path of sockaddr_un, whose last byte is 0."""

MOST_WORKERS = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
"""Of a root. More runs at once would only wait for each other's cores."""
RISK = "a worker would run what is sent to it there"
LOG_DAYS = 30
"""How long the log of a worker stays whose root has had no other one."""


def socket_path(root: str, number: int = 1) -> Path:
    """The path of the socket of this root's worker of this number. Makes the folder. Raises
    SettingInvalid.
    """
    digest = hashlib.sha256(os.path.abspath(root).encode()).hexdigest()[:12]  # noqa: PTH100 - no link is followed, as Spark follows none
    return own_folder("warm", RISK) / f"{digest}{f'-{number}' if number > 1 else ''}.sock"


def socket_paths(root: str) -> list[Path]:
    """The paths of the sockets of all workers that this root may have; those that are there first.
    Raises as socket_path.
    """
    every = [socket_path(root, number) for number in range(1, MOST_WORKERS + 1)]
    return sorted(every, key=lambda path: not path.exists())


def log_path(socket: Path) -> Path:
    """Where the worker at this socket and its JVM write."""
    return socket.with_suffix(".log")


def sweep(socket: Path, now: float) -> None:
    """Remove the logs beside this one to which no worker has written for LOG_DAYS. `now` is a time
    of the clock, in seconds.
    """
    for log in socket.parent.glob("*.log*"):
        with suppress(OSError):
            if log.stat().st_mtime < now - LOG_DAYS * 86_400:
                log.unlink()


@contextmanager
def starting(socket: Path, *, memory: bool) -> Iterator[bool]:
    """Within the block, whether this process alone may start a worker at this socket; with `memory`
    this user at any: two would be given the same free memory.
    """
    locks = [socket.with_suffix(".lock"), *([socket.with_name("starting.lock")] if memory else [])]
    with ExitStack() as stack:
        yield all(stack.enter_context(_locked(lock)) for lock in locks)


@contextmanager
def idling(socket: Path) -> Iterator[bool]:
    """Within the block, whether of this user's workers the one at this socket alone may do an idle
    drain: two would take each other's processors. None may where no lock can be made.
    """
    with ExitStack() as held:
        alone = False
        with suppress(OSError):
            alone = held.enter_context(_locked(socket.with_name("idle.lock")))
        yield alone


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


class Address:
    """The path at which one worker listens."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: tuple[int, int, int] | None = None

    def listen(self) -> socket:
        """The socket that listens there. Raises OSError."""
        made = listening(self._path)
        self._own = self._there()
        return made

    def remove(self) -> None:
        """Remove the file, if it is the one that `listen` made."""
        if self._own is not None and self._there() == self._own:
            self._path.unlink(missing_ok=True)

    def _there(self) -> tuple[int, int, int] | None:
        """Device, inode and time: a file system may reuse the inode of a removed file."""
        try:
            status = self._path.lstat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_ctime_ns
