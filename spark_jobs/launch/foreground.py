"""Foreground: runs a submitted application, and passes its stderr on without the lines that say
nothing: they were the last of commands that ended well.

Ctrl-C asks a drain's driver to stop; a second Ctrl-C kills all its processes.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import psutil

from spark_jobs.launch.processes import end_tree, is_driver, kill_tree, tree
from spark_jobs.launch.scratch import scratch

STDERR: Final = 2
GRACE_SECONDS: Final = 5.0
"""For processes that are asked to end."""
PATIENCE_SECONDS: Final = 1.0
"""A Python worker that outlives the application keeps its stderr open: nobody waits longer."""


@contextmanager
def relayed() -> Iterator[int]:
    """A descriptor to give a process as its stderr. What is written there goes to this process's
    stderr, a line at a time.
    """
    reads, writes = os.pipe()
    relaying = threading.Thread(target=_relay, args=(reads,), name="relay", daemon=True)
    relaying.start()
    try:
        yield writes
    finally:
        os.close(writes)
        relaying.join(PATIENCE_SECONDS)


def run(words: list[str], variables: Mapping[str, str]) -> int:
    """Run a command that only prints; its exit status. Whatever ends the wait ends all its
    processes.
    """
    with relayed() as stderr, scratch(variables) as made:
        started = subprocess.Popen(
            words, env={**variables, **made.variables}, pass_fds=made.locks, stderr=stderr
        )
        try:
            return started.wait()
        except BaseException:
            end_tree(started.pid, GRACE_SECONDS)
            started.wait()
            raise


def _relay(descriptor: int) -> None:
    heard = Heard()
    with os.fdopen(descriptor, "rb") as lines:
        for line in lines:
            for each in heard.of(line):
                os.write(STDERR, each)
    for each in heard.rest():
        os.write(STDERR, each)


LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.1


def run_in_foreground(words: list[str], variables: Mapping[str, str], driver: str) -> None:
    """Run the command to its end.

    `driver` is the script whose Python process takes SIGTERM as a request to stop.

    The command gets its own session. Without it Ctrl-C would also reach the JVM, which would end in
    the middle of a batch.
    """
    with interrupts() as pressed, relayed() as stderr, scratch(variables) as made:
        submitted = subprocess.Popen(
            words,
            env={**variables, **made.variables},
            pass_fds=made.locks,
            stderr=stderr,
            start_new_session=True,
        )
        asked = False
        while submitted.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                submitted.wait(POLL_SECONDS)
            if not pressed or submitted.returncode is not None:
                continue
            pressed.pop()
            if asked or not _request_stop(submitted.pid, driver):
                LOG.info("ending at once; the next run resumes, as after a kill")
                kill_tree(submitted.pid)
            else:
                LOG.info("stopping when the batch at work has ended; Ctrl-C again ends it at once")
            asked = True


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """The Ctrl-C of the block, one entry each.

    None is raised: one that came while another is handled would abandon the drain.

    If the process ignores them, as a process that a shell started in the background does, it still
    does.
    """
    received = list[int]()
    before = signal.getsignal(signal.SIGINT)

    def on_press(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, on_press)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, before)


def _request_stop(pid: int, driver: str) -> bool:
    sent = False
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            if is_driver(process, driver):
                process.terminate()
                sent = True
    return sent


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
