"""Stopping: for the whole of a run, SIGTERM and Ctrl-C only request a stop.

The run stops where nothing is left half-done.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from spark_jobs.errors import Stopped

ASKED = "SIGTERM or Ctrl-C"


class StopRequest:
    """Whether somebody has asked the run to stop."""

    def __init__(self) -> None:
        self.asked = ""
        """Who asked; empty while nobody has."""

    def stop(self, who: str) -> None:
        """Ask the run to stop."""
        self.asked = who

    def raise_if_asked(self) -> None:
        """Raise Stopped if somebody has asked.

        For places at which the run has changed nothing yet.
        """
        if self.asked:
            raise Stopped.before_reading()


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Within the block, SIGTERM and Ctrl-C set the request and do not end the process.

    For the main thread: Python delivers signals to no other.
    """
    request = StopRequest()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        request.stop(ASKED)

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
