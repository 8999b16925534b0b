"""Output: what this process writes, passed on to a client's standard output for the time of a run.

Through a pipe, as a driver's output goes through one to its JVM: where nobody reads any more, what
is written is dropped, and no `print` of a pipeline's code fails.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

STANDARD = (1, 2)
"""The descriptors of standard output and error: under spark-submit both go to one place."""
PART_BYTES = 65_536
LEFT_SECONDS = 1.0
"""How long a process that the run has started and left may keep the pipe open."""


@contextmanager
def passed_on(client: int) -> Iterator[None]:
    """Within the block, standard output and error go to this descriptor."""
    read, write = os.pipe()
    pump = threading.Thread(target=_pump, args=(read, client), name="output", daemon=True)
    pump.start()
    kept = [os.dup(each) for each in STANDARD]
    _flush()
    for each in STANDARD:
        os.dup2(write, each)
    os.close(write)
    try:
        yield
    finally:
        _flush()
        for each, before in zip(STANDARD, kept, strict=True):
            os.dup2(before, each)
            os.close(before)
        pump.join(LEFT_SECONDS)


def write_all(content: bytes, client: int) -> None:
    """Write it, unless nobody reads."""
    with suppress(OSError):
        while content:
            content = content[os.write(client, content) :]


def _pump(read: int, client: int) -> None:
    own = os.dup(client)  # the client's may be closed, and its number another file's
    try:
        while content := os.read(read, PART_BYTES):
            write_all(content, own)
    finally:
        os.close(own)
        os.close(read)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
