"""Attended: a submitted drain in the foreground. Ctrl-C asks its driver to stop; a second one ends everything at once."""

from __future__ import annotations

import logging
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil

from spark_jobs.launch.processes import is_driver, kill_tree, tree

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.1


def run_in_foreground(words: list[str], variables: Mapping[str, str], driver: str) -> None:
    """Run the command to its end. `driver` is the script whose Python process takes SIGTERM as a wish to stop.

    The command gets a session of its own: Ctrl-C would reach the JVM too, which ends on it amid a batch.
    """
    with _interrupts() as pressed:
        submitted = subprocess.Popen(words, env=dict(variables), start_new_session=True)
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
def _interrupts() -> Iterator[list[int]]:
    """Each Ctrl-C within the block, noted and not raised: one that came while another is answered would leave the drain alone.

    Where they are ignored, as in what a shell has put in the background, they stay so.
    """
    found, before = list[int](), signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: found.append(number))
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)


def _request_stop(pid: int, driver: str) -> bool:
    """SIGTERM to the driver's Python; False where it has not begun yet."""
    found = False
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            if is_driver(process, driver):
                process.terminate()
                found = True
    return found
