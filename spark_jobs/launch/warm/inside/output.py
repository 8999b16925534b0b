"""Output: what this process, its JVM and Python workers write in a drain, passed on to its client.

Standard output goes through a pipe, as a driver's goes through one to its JVM: where nobody reads
any more, what is written is dropped, and no `print` of a pipeline's code fails.

The JVM of a worker keeps the log that it had when it started. So the log is read along, and what is
new in it goes to the client's standard error.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2}
STREAMS = [form.format(name) for form in ("{}", "__{}__") for name in NUMBERS]
STANDARD = (1, 2)
"""The descriptors of standard output and error: under spark-submit both go to one place."""
PART_BYTES = 65_536
LEFT_SECONDS = 1.0
"""How long a process that the run has started and left may keep the pipe open."""
SLOW_SECONDS = 10.0
"""How long the client may take to read what was written before the run ended."""
POLL_SECONDS = 0.05


@contextmanager
def passed_on(client: int) -> Iterator[None]:
    """Within the block, standard output and error go to this descriptor."""
    read, write = os.pipe()
    pump = _Pump(read, client)
    pump.start()
    kept = [os.dup(each) for each in STANDARD]
    _flush()
    for each in STANDARD:
        os.dup2(write, each)
    os.close(write)
    try:
        with own_streams():
            yield
    finally:
        for each, before in zip(STANDARD, kept, strict=True):
            os.dup2(before, each)
            os.close(before)
        pump.let_go()


@contextmanager
def own_streams() -> Iterator[None]:
    """Within the block, sys has other streams, of the same descriptors. Whatever a run's code does
    to them, it does not do to this process's.
    """
    before = {name: getattr(sys, name) for name in STREAMS}
    for name, number in NUMBERS.items():
        own = _own(number, before[name])
        setattr(sys, name, own)
        setattr(sys, f"__{name}__", own)
    try:
        yield
    finally:
        _flush()
        for name, stream in before.items():
            setattr(sys, name, stream)


def _own(number: int, before: TextIO) -> TextIO:
    """A stream of this descriptor, which holds no text back, as under PYTHONUNBUFFERED, which
    spark-submit sets: what outlives a run would write it into the next one's output.
    """
    encoding, errors = (getattr(before, name, None) for name in ("encoding", "errors"))
    if number not in STANDARD:
        return open(number, encoding=encoding, errors=errors, closefd=False)
    below = _Whole(number, "w", closefd=False)
    own = TextIOWrapper(below, encoding, errors, write_through=True)
    own.mode = "w"  # type: ignore[misc]  # as open() does
    return own


class _Whole(FileIO):
    """Writes all that it is given: a pipe takes only a part where a signal comes between."""

    def write(self, content: Any, /) -> int:
        left = whole = memoryview(content).cast("B")
        while left:
            left = left[super().write(left) or 0 :]
        return len(whole)


def write_all(content: bytes, client: int) -> None:
    """Write it, unless nobody reads."""
    with suppress(OSError):
        while content:
            content = content[os.write(client, content) :]


def let_go(client: int) -> None:
    """Keep no file of the client's: what is written to the descriptor is dropped. Its number stays:
    a write that has begun ends in the client's file.
    """
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, client, inheritable=False)
    os.close(nothing)


class _Pump(threading.Thread):
    """Writes what comes from a pipe to a client, until it lets the client go."""

    def __init__(self, read: int, client: int) -> None:
        super().__init__(name="output", daemon=True)
        self._read = read
        self._client = os.dup(client)  # the client's may be closed, and its number another file's
        self._empty = False
        """Whether all that was written has been passed on."""
        self._open = True
        self._lock = threading.Lock()

    def run(self) -> None:
        """Until nobody can write to the pipe any more."""
        try:
            while True:
                self._empty = not select.select([self._read], [], [], 0)[0]
                content = os.read(self._read, PART_BYTES)
                self._empty = False
                if not content:
                    return
                write_all(content, self._client)
        finally:
            with self._lock:
                self._open = False
                os.close(self._client)
            os.close(self._read)

    def let_go(self) -> None:
        """Pass on what the run has written; then drop the rest, and keep no file of the client.

        A process that the run has left behind may hold the pipe for as long as it lives.
        """
        self.join(LEFT_SECONDS)
        until = time.monotonic() + SLOW_SECONDS
        while self.is_alive() and not self._empty and time.monotonic() < until:
            self.join(POLL_SECONDS)
        with self._lock:
            if self._open:
                let_go(self._client)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a run's code may have put anything there, or closed it
            stream.flush()


TAIL_SECONDS = 0.1


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
                last = over.wait(TAIL_SECONDS)
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
