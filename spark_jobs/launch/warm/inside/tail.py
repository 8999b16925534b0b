"""Tail: what the JVM and Python workers write into the worker's log in a drain, for its client.

A process of its own would write it to standard error. The JVM of a worker keeps the file that it
had when it started.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.launch.warm.inside.output import PART_BYTES, SLOW_SECONDS, let_go, write_all

POLL_SECONDS = 0.1


@contextmanager
def followed(log: int, error: int) -> Iterator[None]:
    """Within the block, whatever is added to the log goes to the descriptor `error` too. `log`: a
    descriptor.
    """
    over, own, lock = threading.Event(), os.dup(error), threading.Lock()
    read, end, reads = os.fstat(log).st_size, None, True

    def follow() -> None:
        nonlocal read, reads
        last = False
        try:
            while not last:
                last = over.wait(POLL_SECONDS)
                while content := os.pread(log, _at_once(read, end), read):
                    read += len(content)
                    write_all(content, own)
        finally:
            with lock:
                os.close(own)
                reads = False

    thread = threading.Thread(target=follow, name="tail", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end = os.fstat(log).st_size  # what comes behind it is the next run's
        over.set()
        thread.join(SLOW_SECONDS)  # who does not read holds no worker
        with lock:
            if reads:
                let_go(own)


def _at_once(read: int, end: int | None) -> int:
    return PART_BYTES if end is None else max(0, min(PART_BYTES, end - read))
