"""Own log: a worker's log as it opened it. Its path may be removed, or another one's, later."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path


class OwnLog:
    """An open log."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        """Its descriptor."""

    def note(self, line: str) -> None:
        """Add a line, and not to standard output: that is a client's, and its JVM's is late."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        text = f"{at} worker {os.getpid()}: {line}\n"
        with suppress(OSError):
            os.write(self.file, text.encode(errors="backslashreplace"))
