"""Job: one drain in the worker, and the client that waits for it."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

from spark_jobs.launch.warm.link import PATIENCE_SECONDS, BadMessage, Gone, Link
from spark_jobs.launch.warm.message import Accepted, Drain, Ended, Ending, Go, Stop

AGAIN_SECONDS = 1.0
"""How often a stop is asked for: the run may not have begun to listen when it came first."""


class Job:
    """A drain that a client wants. The main thread does it; another one, in `attend`, listens to
    the client.
    """

    def __init__(self, wanted: Drain, link: Link) -> None:
        self.wanted = wanted
        self.link = link
        self.abandoned = False
        """Whether its client is gone."""
        self._refusal = ""
        self._confirmed = False
        self._prepared = threading.Event()
        self._settled = threading.Event()
        self._over = threading.Event()
        self._answered = threading.Event()

    @property
    def run(self) -> str:
        """Its words, for people."""
        return " ".join(self.wanted.words)

    def begins(self) -> bool:
        """The worker is ready for it. Returns whether the client, who is told so, is too."""
        self._prepared.set()
        self._settled.wait()
        return self._confirmed

    def refuse(self, why: str) -> None:
        """The worker cannot do it, and ends: tell the client, who goes on without this worker."""
        self._refusal = why
        self._prepared.set()
        self._settled.wait()

    def attend(self, process: int) -> None:
        """Until the client is answered: pass its stop on, and take its end for one. `process`: the
        worker's topmost one.

        The drain hears of it as one of its own process does: by SIGTERM.
        """
        self._prepared.wait()
        try:
            self._confirmed = self._agree(process)
        except (Gone, BadMessage):
            pass
        finally:
            self._settled.set()
        if self._confirmed:
            self._follow()

    def _agree(self, process: int) -> bool:
        """Whether the client knows that its run begins: one that does not may have started cold."""
        self.link.send(Ending(self._refusal, "") if self._refusal else Accepted(process))
        return not self._refusal and isinstance(self.link.receive(PATIENCE_SECONDS), Go)

    def _follow(self) -> None:
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
