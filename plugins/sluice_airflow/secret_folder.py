"""A folder by which a task hands secrets to the process that it starts: its owner's alone, and gone with the task."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

YOUNG_SECONDS = 60
"""A folder's age until which its lock may not have been taken yet."""


@contextmanager
def secret_folder(prefix: str) -> Iterator[Path]:
    """One within the block. Where this process is killed, `sweep` removes it: nobody holds its lock any more."""
    with tempfile.TemporaryDirectory(prefix=prefix) as folder, (Path(folder) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(folder)


def sweep(prefix: str) -> None:
    """Remove what killed tasks of this user on this machine have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError), (folder / "lock").open("r+") as lock:
            if time.time() - folder.stat().st_mtime > YOUNG_SECONDS:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
