"""Scratch: a folder for what Spark's JVM writes beside the root in one run: rows of shuffles and
broadcasts, state that RocksDB has open, its libraries, sockets to its Python workers.

Spark makes folders that everybody may enter, and leaves them behind where its JVM is killed. So
each JVM has one in a folder that its user alone may enter, with a lock that it holds for as long as
it lives. The next start removes those whose lock is free.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from spark_jobs.errors import SettingInvalid
from spark_jobs.storage.root.path_forms import folder_name, own_folder

RISK: Final = "rows and state would be there"
MOST_SOCKET_BYTES: Final = 60
"""Of a folder in which Spark makes sockets: their paths have at most 104 bytes on some systems, and
Spark's names of them 43.
"""
FOLDERS: Final = "SLUICE_RUN_SCRATCH"
"""The variable with all of them, for who ends the JVM from below."""
NAME_CHARACTERS: Final = 8
_LOCK: Final = ".lock"


class Scratch:
    """The folders of one JVM that is about to start, locked by this process."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        """Makes one in the temporary folder, and one in each of the folders of SPARK_LOCAL_DIRS.

        `variables`: the environment that the JVM would have. Raises SettingInvalid.
        """
        given = [each for each in variables.get("SPARK_LOCAL_DIRS", "").split(",") if each]
        self._folders = list[Path]()
        self.locks = list[int]()
        """Open files, for the JVM to inherit."""
        for base in dict.fromkeys([tempfile.gettempdir(), *given]):
            try:
                Path(base).mkdir(parents=True, exist_ok=True)
                self._make(own_folder("scratch", RISK, base))
            except OSError as error:
                raise SettingInvalid.scratch_unmade(folder=base, error=error) from None
        first, *others = map(str, self._folders)
        options = [
            *shlex.split(variables.get("SPARK_SUBMIT_OPTS", "")),
            f"-Djava.io.tmpdir={first}",
        ]
        self.variables = {
            "SPARK_LOCAL_DIRS": ",".join(others or [first]),
            "SPARK_SUBMIT_OPTS": shlex.join(options),
            FOLDERS: ",".join([first, *others]),
        }
        """What its environment is to have besides."""

    def _make(self, home: Path) -> None:
        _sweep(home)
        folder = home / uuid4().hex[:NAME_CHARACTERS]
        lock = os.open(_lock_of(folder), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.locks.append(lock)
        _take(lock)
        os.write(lock, socket.gethostname().encode())
        folder.mkdir(mode=0o700)  # last: a folder that others see is locked
        self._folders.append(folder)

    def let_go(self) -> None:
        """Leave the folders to the JVM that has inherited the locks."""
        for lock in self.locks:
            os.close(lock)

    def remove(self) -> None:
        """Remove the folders: the JVM has ended."""
        for folder in self._folders:
            _remove(folder)
        self.let_go()


@contextmanager
def scratch(variables: Mapping[str, str]) -> Iterator[Scratch]:
    """The scratch of a JVM that ends within the block. Raises as Scratch."""
    made = Scratch(variables)
    try:
        yield made
    finally:
        made.remove()


def remove_own() -> None:
    """Remove the folders of the JVM that this process is of, once it is gone: its threads may have
    the lock for a moment after they were killed.
    """
    for folder in map(Path, filter(None, os.environ.get(FOLDERS, "").split(","))):
        with suppress(FileNotFoundError), _lock_of(folder).open("r+") as lock:
            _take(lock.fileno())
            _remove(folder)


def has_sockets() -> bool:
    """Whether a JVM may have the sockets of its Python workers in its folder: their path is short
    enough. Elsewhere they are ports of the loopback.
    """
    folder = Path(tempfile.gettempdir()) / folder_name("scratch") / ("x" * NAME_CHARACTERS)
    return len(os.fsencode(folder)) <= MOST_SOCKET_BYTES


def _lock_of(folder: Path) -> Path:
    return folder.with_suffix(_LOCK)


def _take(lock: int) -> None:
    with suppress(OSError):  # a file system without locks: then nobody sweeps it
        fcntl.flock(lock, fcntl.LOCK_EX)


def _sweep(home: Path) -> None:
    """The locks of this machine: where machines share a folder, a lock may hold on one alone."""
    for folder in home.iterdir():
        if folder.suffix == _LOCK:
            continue
        with suppress(OSError), _lock_of(folder).open("r+") as lock:  # held, or swept just now
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.read() == socket.gethostname():
                _remove(folder)


def _remove(folder: Path) -> None:
    """With its lock. What cannot be removed now keeps it, for the next."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        _lock_of(folder).unlink(missing_ok=True)
