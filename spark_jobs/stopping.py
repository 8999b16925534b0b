"""Stopping: SIGTERM and Ctrl-C are a wish that is heard for the whole of a run, and granted where nothing is left half-done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from spark_jobs.contract.errors import Stopped

ASKED = "SIGTERM or Ctrl-C"


class Wish:
    """Whether somebody wants the run to end."""

    def __init__(self) -> None:
        self.asked = ""
        """Who asked, once somebody has."""

    def stop(self, who: str) -> None:
        """Want it, from now on."""
        self.asked = who

    def heed(self) -> None:
        """Raise Stopped where somebody has asked: for places at which the run has done nothing yet."""
        if self.asked:
            raise Stopped("the run was asked to stop before it read anything.", "The next run does what it would have done.")


@contextmanager
def heard() -> Iterator[Wish]:
    """Within the block, SIGTERM and Ctrl-C are noted, and kill nobody. For the main thread, which alone gets signals."""
    wish = Wish()

    def ask(_number: int, _frame: FrameType | None) -> None:
        wish.stop(ASKED)

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
