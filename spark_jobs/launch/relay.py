"""Relay: what an application writes on stderr, for its starter, without the lines that say nothing:
they were the last of commands that ended well.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from spark_jobs.launch.processes import end_tree
from spark_jobs.launch.scratch import scratch

NOISE: Final = (b"WARNING: Using incubator modules: jdk.incubator.vector",)
"""Spark's launcher adds that module to every JVM, and the JVM says so each time."""
NOISE_OF_WORKERS: Final = (
    b"Starting Streaming TransformWithStateInPandas Python worker",
    b"Streaming TransformWithStateInPandas Python worker",
)
"""Beginnings of lines of a processor's start, which PySpark prints, each with an empty line."""
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
    with os.fdopen(descriptor, "rb") as lines:
        says_nothing = False
        for line in lines:
            empty = says_nothing and not line.strip()
            says_nothing = line.rstrip() in NOISE or line.startswith(NOISE_OF_WORKERS)
            if not says_nothing and not empty:
                os.write(STDERR, line)
