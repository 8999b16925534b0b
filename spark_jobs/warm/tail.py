"""Tail: what the JVM and Python workers write into the worker's log in a drain, for its client.

A process of its own would write it to standard error. The JVM of a worker keeps the file that it
had when it started.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spark_jobs.warm.output import write_all

POLL_SECONDS = 0.1


@contextmanager
def followed(log: Path, error: int) -> Iterator[None]:
    """Within the block, whatever is added to the log goes to the descriptor `error` too."""
    over = threading.Event()
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)

        def follow() -> None:
            while not over.wait(POLL_SECONDS):
                write_all(file.read(), error)
            write_all(file.read(), error)

        thread = threading.Thread(target=follow, name="tail", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
