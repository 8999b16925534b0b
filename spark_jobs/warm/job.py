"""Job: one drain in the worker, and the client that waits for it."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

from spark_jobs.warm.link import BadMessage, Gone, Link
from spark_jobs.warm.message import Drain, Ended, Stop

AGAIN_SECONDS = 1.0
"""How often a stop is asked for: the run may not have begun to listen when it came first."""


class Job:
    """A drain that was accepted."""

    def __init__(self, wanted: Drain, link: Link) -> None:
        self.wanted = wanted
        self.link = link
        self.abandoned = False
        """Whether its client is gone."""
        self._over = threading.Event()
        self._answered = threading.Event()

    @property
    def run(self) -> str:
        """Its words, for people."""
        return " ".join(self.wanted.words)

    def attend(self) -> None:
        """Until the client is answered: pass its stop on, and take its end for one.

        The drain hears of it as one of its own process does: by SIGTERM.
        """
        try:
            while not isinstance(self.link.receive(), Stop):
                pass
        except (Gone, BadMessage):
            self.abandoned = not self._over.is_set()
        while not self._over.is_set():
            os.kill(os.getpid(), signal.SIGTERM)
            self._over.wait(AGAIN_SECONDS)
        self._answered.wait()

    def end(self) -> None:
        """Its run is over."""
        self._over.set()

    def answer(self, status: int) -> None:
        """Tell the client how its run ended."""
        self.link.close_files()  # whoever reads to their end has it now
        with suppress(Gone):
            self.link.send(Ended(status))
        self._answered.set()
