"""Attended: a submitted drain in the foreground. Ctrl-C asks its driver to stop; a second one ends everything at once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil  # type: ignore[import-untyped, unused-ignore]


def attend(words: list[str], variables: Mapping[str, str], driver: str, say: Callable[[str], None]) -> None:
    """Run the command to its end. `driver` is the script whose Python process takes SIGTERM as a wish to stop.

    The command gets a session of its own: Ctrl-C would reach the JVM too, which ends on it amid a batch.
    """
    submitted = subprocess.Popen(words, env=dict(variables), start_new_session=True)
    asked = False
    while submitted.returncode is None:
        try:
            submitted.wait()
        except KeyboardInterrupt:
            if asked or not _ask(submitted.pid, driver):
                say("ending at once; the next run resumes, as after a kill")
                _end(submitted.pid)
            else:
                say("stopping when the batch at work has ended; Ctrl-C again ends it at once")
            asked = True


def _tree(pid: int) -> list[psutil.Process]:
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _ask(pid: int, driver: str) -> bool:
    """SIGTERM to the driver's Python; False where it has not begun yet."""
    found = False
    for process in _tree(pid):
        with suppress(psutil.NoSuchProcess, IndexError):
            command = process.cmdline()
            if "python" in command[0] and driver in command[1:3]:
                process.terminate()
                found = True
    return found


def _end(pid: int) -> None:
    for process in _tree(pid):
        with suppress(psutil.NoSuchProcess):
            process.kill()
