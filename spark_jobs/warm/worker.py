"""The worker: takes one drain at a time from the clients of this user, and ends by itself.

Its main thread does the drains, as the main thread of main.py does one. Other threads listen.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from socket import socket
from typing import Protocol

from spark_jobs import failpoint
from spark_jobs.launch import parent_watch
from spark_jobs.warm.fingerprint import changed
from spark_jobs.warm.job import Job
from spark_jobs.warm.jvm import Jvm
from spark_jobs.warm.link import PATIENCE_SECONDS, BadMessage, Gone, Link, listening
from spark_jobs.warm.message import Accepted, Busy, Changed, Drain, End, Look, Shown
from spark_jobs.warm.place import log_path
from spark_jobs.warm.recycling import Limits
from spark_jobs.warm.surroundings import as_a_process
from spark_jobs.warm.tail import followed

Run = Callable[[list[str]], int]


class Spark(Protocol):
    """What a worker keeps between drains: the JVM of jvm.py."""

    def new_session(self) -> None:
        """Make a session that the next drain finds."""

    def clean(self) -> None:
        """Leave nothing of the drain behind."""

    def memory_mb(self) -> int:
        """Megabytes of this process and its JVM."""


class Worker:
    """A worker at one socket. `born` is the fingerprint of what it was started with; `run` does one
    run, by the arguments of main.py, and returns its exit status. `start` starts the JVM.
    """

    def __init__(
        self,
        address: Path,
        born: dict[str, str],
        limits: Limits,
        run: Run,
        start: Callable[[], Spark] = Jvm,
    ) -> None:
        self._address = address
        self._log = log_path(address)
        self._born = born
        self._limits = limits
        self._run = run
        self._start = start
        self._started_at = datetime.now(UTC)
        self._parent = os.getppid()
        self._drains = 0
        self._job: Job | None = None
        self._ending = ""
        self._lock = threading.RLock()
        self._jobs = SimpleQueue[Job | None]()
        """A signal's handler may put something there; None only wakes the main thread."""

    def work(self) -> int:
        """Until it ends. Returns the exit status of the process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end("it was asked to"))
        parent_watch.watch(generations=1)  # whoever started it is not its owner
        self._jvm = self._start()
        self._listen(listening(self._address))
        self._note("it waits for drains")
        while (job := self._next()) is not None:
            self._do(job)
        self._note(f"it ends: {self._ending}")
        return 0

    def _next(self) -> Job | None:
        """The next job; None if the worker is to end."""
        while True:
            try:
                job = self._jobs.get(timeout=self._limits.idle_seconds)
            except Empty:
                with self._lock:
                    if self._job is None:
                        self._end("nobody wanted a drain for SLUICE_WARM_IDLE_MINUTES")
                continue
            if job is not None:
                return job
            if self._job is None and self._ending:
                return None

    def _do(self, job: Job) -> None:
        output, error = job.link.files
        self._note(f"drain {self._drains + 1}: {job.run}")
        status, problem = 1, ""
        with followed(self._log, error):
            try:
                self._jvm.new_session()
                with as_a_process(job.wanted.variables, job.wanted.folder, output):
                    failpoint.read_again()
                    status = _status(self._run, job.wanted.words)
            finally:
                job.end()
                problem = self._left_behind()
        self._drains += 1
        with self._lock:
            if job.abandoned:
                problem = "the client of its drain is gone"
            problem = problem or self._limits.end_because(status, self._drains, self._memory_mb())
            self._job = None
            if problem or self._ending:
                self._end(problem)
        self._note(f"the drain ended with exit status {status}")
        job.answer(status)

    def _left_behind(self) -> str:
        """Clean up behind a drain. Returns why the worker cannot do another; empty if it can."""
        try:
            self._jvm.clean()
        except Exception as error:  # noqa: BLE001 - the JVM is gone, or in no state for another drain
            return f"it cannot clean up: {error}"
        return ""

    def _memory_mb(self) -> int:
        """0 if the JVM is gone."""
        with suppress(Exception):
            return self._jvm.memory_mb()
        return 0

    def _end(self, why: str) -> None:
        """End behind the job at work, if there is one."""
        self._retire(why)
        self._jobs.put(None)

    def _retire(self, why: str) -> None:
        """From now on nobody finds this worker; it ends when its main thread wakes."""
        with self._lock:
            if not self._ending:
                self._address.unlink(missing_ok=True)
            self._ending = self._ending or why

    def _listen(self, listener: socket) -> None:
        def accept() -> None:
            while True:
                connected, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

        threading.Thread(target=accept, name="listen", daemon=True).start()

    def _serve(self, connected: socket) -> None:
        """One client's question, and its drain if it is one."""
        try:
            link = Link(connected)
        except BadMessage as error:
            self._note(f"refused: {error}")
            connected.close()
            return
        try:
            asked = link.receive(PATIENCE_SECONDS)
            if isinstance(asked, Drain):
                if (job := self._take(asked, link)) is not None:
                    job.attend()
            elif isinstance(asked, Look | End):
                if isinstance(asked, End):
                    self._retire("somebody asked it to (sluice worker stop)")
                link.send(self._shown())
                if isinstance(asked, End):
                    self._jobs.put(None)
            else:
                self._note(f"refused: {type(asked).__name__} is no question")
        except Gone:
            pass
        except BadMessage as error:
            self._note(f"refused: {error}")
        finally:
            link.close()

    def _take(self, wanted: Drain, link: Link) -> Job | None:
        """The job, if this worker does it; else the client has been told why not."""
        with self._lock:
            if os.getppid() != self._parent:
                self._end("its JVM is gone")
            if self._ending or len(link.files) != 2:  # noqa: PLR2004 - output and error
                return None
            if self._job is not None:
                link.send(Busy(self._job.run))
                return None
            if parts := changed(self._born, wanted.fingerprint):
                self._retire(f"changed since it started: {', '.join(parts)}")
                try:
                    link.send(Changed(parts))
                finally:
                    self._jobs.put(None)
                return None
            link.send(Accepted(os.getppid()))
            self._job = job = Job(wanted, link)
            self._jobs.put(job)
            return job

    def _shown(self) -> Shown:
        return Shown(
            os.getppid(),
            self._started_at.isoformat(timespec="seconds"),
            self._drains,
            self._memory_mb(),
            self._job.run if self._job else "",
            self._ending,
        )

    def _note(self, line: str) -> None:
        """Into the log, and not to standard output: that is a client's, and its JVM's is late."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with suppress(OSError), self._log.open("a", encoding="utf-8") as log:
            log.write(f"{at} worker {os.getpid()}: {line}\n")


def _status(run: Run, words: list[str]) -> int:
    """The exit status of a process that does this."""
    try:
        return run(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as Python ends a process
        traceback.print_exc()
        return 1
