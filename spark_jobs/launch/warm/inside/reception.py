"""Reception: the threads of a worker that listen to clients, and take a drain or say why not.

They bring jobs. The main thread waits for its turn at each, and whether there is another one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from socket import socket

from spark_jobs.launch.warm.fingerprint import changed
from spark_jobs.launch.warm.inside.output import OwnLog
from spark_jobs.launch.warm.link import (
    PATIENCE_SECONDS,
    Accepted,
    BadMessage,
    Busy,
    Changed,
    Drain,
    End,
    Ended,
    Ending,
    Go,
    Gone,
    Link,
    Look,
    Shown,
    Stop,
)
from spark_jobs.launch.warm.place import Address

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
        self.link.close_files()  # their reader has it now
        with suppress(Gone):
            self.link.send(Ended(status))
        self._answered.set()


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

    @property
    def wanted(self) -> str:
        """Who wants the worker to do something, or to end; empty if nobody does."""
        return "a client" if self.job is not None else self.ending

    def next(
        self,
        idle_seconds: float,
        short_because: Callable[[], str] = lambda: "",
        meanwhile: Callable[[float], None] = lambda _: None,
    ) -> Job | None:
        """The next job; None if the worker is to end, if none came for so long, and if
        `short_because` says why it may not wait for one. At each look at which nobody wants the
        worker, `meanwhile` gets the seconds since this was called.
        """
        began = time.monotonic()
        idle_until = began + idle_seconds
        while True:
            try:
                job = self._jobs.get(timeout=min(LOOK_SECONDS, idle_seconds))
            except Empty:
                with self.lock:
                    if self.job is None and self.ending:  # what retired it did not wake it
                        return None
                    if self.job is None and time.monotonic() >= idle_until:
                        self.end("nobody wanted a run for SLUICE_WARM_IDLE_MINUTES")
                    elif self.job is None and (why := short_because()):
                        self.end(why)
                if not self.wanted:
                    meanwhile(time.monotonic() - began)
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


class Reception:
    """Of the worker of this process. `born`: the fingerprint of what it was started with; `shown`
    tells what `sluice worker` shows of it.
    """

    def __init__(
        self, turn: Turn, born: dict[str, str], log: OwnLog, shown: Callable[[], Shown]
    ) -> None:
        self._turn = turn
        self._born = born
        self._log = log
        self._shown = shown
        self._parent = os.getppid()

    def open(self, listener: socket) -> None:
        """Serve all clients, until the process ends."""

        def accept() -> None:
            while True:
                connected, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

        threading.Thread(target=accept, name="listen", daemon=True).start()

    def _serve(self, connected: socket) -> None:
        try:
            link = Link(connected)
        except BadMessage as error:
            self._log.note(f"refused: {error}")
            connected.close()
            return
        try:
            self._answer(link.receive(PATIENCE_SECONDS), link)
        except Gone:
            pass
        except BadMessage as error:
            self._log.note(f"refused: {error}")
        finally:
            link.close()

    def _answer(self, asked: object, link: Link) -> None:
        if isinstance(asked, Drain):
            if (job := self._take(asked, link)) is not None:
                job.attend(self._parent)
        elif isinstance(asked, Look | End):
            if isinstance(asked, End):
                self._turn.retire("somebody asked it to (sluice worker stop)")
            link.send(self._shown())
            if isinstance(asked, End):
                self._turn.wake()
        else:
            self._log.note(f"refused: {type(asked).__name__} is no question")

    def _take(self, wanted: Drain, link: Link) -> Job | None:
        turn = self._turn
        with turn.lock:
            if os.getppid() != self._parent:
                turn.end("its JVM is gone")
            if len(link.files) != 2:  # noqa: PLR2004 - output and error
                return None
            if turn.ending:
                link.send(Ending(turn.ending, turn.job.run if turn.job else ""))
                return None
            if turn.job is not None:
                link.send(Busy(turn.job.run))
                return None
            if parts := changed(self._born, wanted.fingerprint):
                turn.retire(f"changed since it started: {', '.join(parts)}")
                try:
                    link.send(Changed(parts))
                finally:
                    turn.wake()
                return None
            job = Job(wanted, link)
            turn.take(job)
            return job
