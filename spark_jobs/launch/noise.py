"""Noise: lines of an application's stderr that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LAUNCHERS: Final = b"WARNING: Using incubator modules: jdk.incubator.vector"
"""Spark's launcher adds that module to every JVM, and the JVM says so each time."""
OF_WORKERS: Final = (
    b"Starting Streaming TransformWithStateInPandas Python worker",
    b"Streaming TransformWithStateInPandas Python worker",
)
"""Beginnings of lines of a processor's start, which PySpark prints, each with an empty line."""
BEGINS: Final = b"Traceback (most recent call last):"
ENDS: Final = re.compile(rb"(BrokenPipe|ConnectionReset)Error: .*")
WITHIN: Final = re.compile(
    rb'  File ".*[/\\]pyspark[/\\]daemon\.py", line \d+, in (manager|worker)'
    rb"|    (code = worker\(sock, authenticated\)|outfile\.flush\(\))"
    rb"| +[~^]+"
)


class Heard:
    """Passes on what says something. Spark asks a worker for what it plans by a daemon that nobody
    can name another, and closes the socket when it has the answer: each such worker prints a stack
    trace (launch/quiet_python_daemon.py). Those of several may be mixed.
    """

    def __init__(self) -> None:
        self._held = list[bytes]()
        self._open = 0
        self._empty_follows = False

    def of(self, line: bytes) -> Iterator[bytes]:
        """The line, if it says something, behind those before it of which that was not known."""
        text = line.rstrip()
        if text == BEGINS or (self._held and (ENDS.fullmatch(text) or WITHIN.fullmatch(text))):
            self._held.append(line)
            self._open += (text == BEGINS) - bool(ENDS.fullmatch(text))
            if not self._open:
                self._held.clear()
            return
        yield from self.rest()
        empty = self._empty_follows and not text
        self._empty_follows = text == LAUNCHERS or line.startswith(OF_WORKERS)
        if not self._empty_follows and not empty:
            yield line

    def rest(self) -> Iterator[bytes]:
        """What is held, where no line comes any more."""
        held, self._held, self._open = self._held, [], 0
        yield from held
