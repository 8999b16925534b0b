"""Address: the socket's file of a worker. Another worker's may have taken its place."""

from __future__ import annotations

from pathlib import Path
from socket import socket

from spark_jobs.launch.warm.link import listening


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
