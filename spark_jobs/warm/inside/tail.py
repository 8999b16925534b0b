"""Tail: what the JVM and Python workers write into the worker's log in a drain, for its client.

A process of its own would write it to standard error. The JVM of a worker keeps the file that it
had when it started.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.warm.inside.output import PART_BYTES, SLOW_SECONDS, write_all

POLL_SECONDS = 0.1


@contextmanager
def followed(log: int, error: int) -> Iterator[None]:
    """Within the block, whatever is added to the log goes to the descriptor `error` too. `log`: a
    descriptor.
    """
    over, own = threading.Event(), os.dup(error)
    read = os.fstat(log).st_size

    def follow() -> None:
        nonlocal read
        last = False
        try:
            while not last:
                last = over.wait(POLL_SECONDS)
                while content := os.pread(log, PART_BYTES, read):
                    read += len(content)
                    write_all(content, own)
        finally:
            os.close(own)

    thread = threading.Thread(target=follow, name="tail", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(SLOW_SECONDS)  # who does not read holds no worker
