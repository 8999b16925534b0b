"""Turn: the job at work in a worker, and whether the worker takes another one.

The main thread waits here for jobs. The threads of reception.py bring them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from spark_jobs.launch.warm.address import Address
from spark_jobs.launch.warm.inside.job import Job

LOOK_SECONDS = 1.0
"""How often the main thread looks up: a signal that comes just before it waits, or that another
thread is given, does not wake it.
"""


class Turn:
    """Of one worker, which listens at `address`. Decisions by `job` and `ending` hold `lock`."""

    def __init__(self, address: Address) -> None:
        self.lock = threading.RLock()
        self.job: Job | None = None
        self.ending = ""
        """Why the worker ends; empty while it does not."""
        self._address = address
        self._jobs = SimpleQueue[Job | None]()
        """A signal's handler may put something there; None only wakes the main thread."""

    def take(self, job: Job) -> None:
        """It is this job's turn."""
        self.job = job
        self._jobs.put(job)

    def next(
        self, idle_seconds: float, short_because: Callable[[], str] = lambda: ""
    ) -> Job | None:
        """The next job; None if the worker is to end, if none came for so long, and if
        `short_because` says why it may not wait for one.
        """
        idle_until = time.monotonic() + idle_seconds
        while True:
            try:
                job = self._jobs.get(timeout=min(LOOK_SECONDS, idle_seconds))
            except Empty:
                with self.lock:
                    if self.job is None and self.ending:  # whoever retired it did not wake it
                        return None
                    if self.job is None and time.monotonic() >= idle_until:
                        self.end("nobody wanted a run for SLUICE_WARM_IDLE_MINUTES")
                    elif self.job is None and (why := short_because()):
                        self.end(why)
                continue
            if job is not None:
                return job
            if self.job is None and self.ending:
                return None

    def rest(self, problem: str = "") -> None:
        """No job is at work any more. The worker ends if there is a problem."""
        with self.lock:
            self.job = None
            if problem or self.ending:
                self.end(problem)

    def end(self, why: str) -> None:
        """End behind the job at work, if there is one."""
        self.retire(why)
        self.wake()

    def retire(self, why: str, *, at_once: bool = False) -> None:
        """From now on the worker takes no drain; it ends when its main thread wakes. While a job is
        at work it says so to all who ask; behind it, or `at_once`, nobody finds it.
        """
        with self.lock:
            self.ending = self.ending or why
            if at_once or self.job is None:
                self._address.remove()

    def wake(self) -> None:
        """Let the main thread see that the worker ends."""
        self._jobs.put(None)
