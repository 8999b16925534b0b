"""A folder with secrets for a task's child process.

Only its owner can read it, and it is removed with the task.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

YOUNG_SECONDS = 60
"""A younger folder may be in use although its lock is free: its process takes the lock after it
creates the folder.
"""


@contextmanager
def secret_folder(prefix: str) -> Iterator[Path]:
    """Yields a folder that exists inside the block.

    If this process is killed, `sweep` removes the folder: its lock is free.
    """
    with (
        tempfile.TemporaryDirectory(prefix=prefix) as folder,
        (Path(folder) / "lock").open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(folder)


def sweep(prefix: str) -> None:
    """Removes the folders of killed tasks of this user on this machine."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError), (folder / "lock").open("r+") as lock:
            status = folder.lstat()
            old = time.time() - status.st_mtime > YOUNG_SECONDS
            if old and status.st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
