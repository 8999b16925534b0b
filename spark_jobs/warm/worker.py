"""The worker: takes one drain at a time from the clients of this user, and ends by itself.

Its main thread does the drains, as the main thread of main.py does one. Other threads listen.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from socket import socket
from typing import NoReturn, Protocol

from spark_jobs import failpoint
from spark_jobs.launch import parent_watch
from spark_jobs.warm.address import Address
from spark_jobs.warm.fingerprint import changed
from spark_jobs.warm.job import Job
from spark_jobs.warm.jvm import Jvm
from spark_jobs.warm.limited import within
from spark_jobs.warm.link import PATIENCE_SECONDS, BadMessage, Gone, Link
from spark_jobs.warm.message import Busy, Changed, Drain, End, Ending, Look, Shown
from spark_jobs.warm.output import write_all
from spark_jobs.warm.own_log import OwnLog
from spark_jobs.warm.place import log_path
from spark_jobs.warm.recycling import Limits
from spark_jobs.warm.surroundings import as_a_process
from spark_jobs.warm.tail import followed

Run = Callable[[list[str]], int]
CLEAN_SECONDS = 30.0
"""How long the worker may clean up behind a drain: the client waits for that."""
STOP_SECONDS = 30.0
"""How long Spark may take to stop."""
LOOK_SECONDS = 1.0
"""How often the main thread looks up: a signal that comes just before it waits, or that another
thread is given, does not wake it.
"""


class Spark(Protocol):
    """What a worker keeps between drains: the JVM of jvm.py."""

    def new_session(self) -> None:
        """Make a session that the next drain finds."""

    def clean(self) -> None:
        """Leave nothing of the drain behind."""

    def stop(self) -> None:
        """Stop it; it ends behind this process."""

    def kill(self) -> None:
        """End it at once, with whatever it has at work."""

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
        self._address = Address(address)
        self._log = OwnLog(log_path(address))
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

    def work(self) -> NoReturn:
        """Until it ends, and the process with it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end("it was asked to"))
        parent_watch.watch(generations=1)  # whoever started it is not its owner
        self._jvm = self._start()
        self._listen(self._address.listen())
        self._log.note("it waits for drains")
        while (job := self._next()) is not None:
            self._do(job)
        self._leave()

    def _next(self) -> Job | None:
        """The next job; None if the worker is to end."""
        idle_until = time.monotonic() + self._limits.idle_seconds
        while True:
            try:
                job = self._jobs.get(timeout=min(LOOK_SECONDS, self._limits.idle_seconds))
            except Empty:
                with self._lock:
                    if self._job is None and time.monotonic() >= idle_until:
                        self._end("nobody wanted a drain for SLUICE_WARM_IDLE_MINUTES")
                continue
            if job is not None:
                return job
            if self._job is None and self._ending:
                return None

    def _do(self, job: Job) -> None:
        try:
            self._jvm.new_session()
        except Exception as error:  # noqa: BLE001 - the JVM is gone, or in no state for a drain
            why = f"it cannot make a session: {error}"
            self._leave_at_once(why, lambda: job.refuse(why))
        if not job.begins():
            self._log.note(f"dropped, as its client does not say that it waits: {job.run}")
            self._rest()
            return
        self._log.note(f"drain {self._drains + 1}: {job.run}")
        with followed(self._log.file, job.link.files[1]):
            status = self._ran(job)
            # Behind a failure a query may be at work yet, and the lease is free.
            problem = "" if status else within(CLEAN_SECONDS, self._jvm.clean)
        self._drains += 1
        self._log.note(f"the drain ended with exit status {status}")
        if status or problem:
            self._leave_at_once(self._problem(job, status, problem), lambda: job.answer(status))
        self._rest(self._problem(job, status))
        job.answer(status)

    def _ran(self, job: Job) -> int:
        """The exit status of a process that does this."""
        wanted, status = job.wanted, 1
        try:
            with as_a_process(wanted.variables, wanted.folder, job.link.files[0]):
                failpoint.read_again()
                status = _status(self._run, wanted.words)
        except BaseException:  # noqa: BLE001 - a folder that is gone, or no thread for the output
            write_all(traceback.format_exc().encode(errors="backslashreplace"), job.link.files[1])
            status = 1
        finally:
            job.end()
        return status

    def _problem(self, job: Job, status: int, left: str = "") -> str:
        """Why the worker ends behind this drain; empty if it does not. `left`: why it could not
        clean up.
        """
        if job.abandoned:
            return "the client of its drain is gone"
        if left:
            return f"it cannot clean up: {left}"
        return self._limits.end_because(status, self._drains, self._memory_mb())

    def _rest(self, problem: str = "") -> None:
        """No job is at work any more. The worker ends if there is a problem."""
        with self._lock:
            self._job = None
            if problem or self._ending:
                self._end(problem)

    def _memory_mb(self) -> int:
        """0 if the JVM is gone."""
        with suppress(Exception):
            return self._jvm.memory_mb()
        return 0

    def _end(self, why: str) -> None:
        """End behind the job at work, if there is one."""
        self._retire(why)
        self._jobs.put(None)

    def _retire(self, why: str, *, at_once: bool = False) -> None:
        """From now on this worker takes no drain; it ends when its main thread wakes. While a job
        is at work it says so to whoever asks; behind it, or `at_once`, nobody finds it.
        """
        with self._lock:
            self._ending = self._ending or why
            if at_once or self._job is None:
                self._address.remove()

    def _leave(self) -> NoReturn:
        """End, with nothing at work. No thread of Spark or of a pipeline's code holds it up."""
        self._log.note(f"it ends: {self._ending}")
        if why := within(STOP_SECONDS, self._jvm.stop):
            self._log.note(f"Spark does not stop: {why}")
            self._jvm.kill()
        _exit()

    def _leave_at_once(self, why: str, tell: Callable[[], None]) -> NoReturn:
        """End with the JVM, and before that `tell` the client: what the JVM has at work does not
        outlive the answer.
        """
        self._retire(why, at_once=True)
        self._log.note(f"it ends at once: {self._ending}")
        if left := within(STOP_SECONDS, self._jvm.kill):
            self._log.note(f"its JVM may live: {left}")
        tell()
        _exit()

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
            self._log.note(f"refused: {error}")
            connected.close()
            return
        try:
            asked = link.receive(PATIENCE_SECONDS)
            if isinstance(asked, Drain):
                if (job := self._take(asked, link)) is not None:
                    job.attend(self._parent)
            elif isinstance(asked, Look | End):
                if isinstance(asked, End):
                    self._retire("somebody asked it to (sluice worker stop)")
                link.send(self._shown())
                if isinstance(asked, End):
                    self._jobs.put(None)
            else:
                self._log.note(f"refused: {type(asked).__name__} is no question")
        except Gone:
            pass
        except BadMessage as error:
            self._log.note(f"refused: {error}")
        finally:
            link.close()

    def _take(self, wanted: Drain, link: Link) -> Job | None:
        """The job, if this worker does it; else the client has been told why not."""
        with self._lock:
            if os.getppid() != self._parent:
                self._end("its JVM is gone")
            if len(link.files) != 2:  # noqa: PLR2004 - output and error
                return None
            if self._ending:
                link.send(Ending(self._ending, self._job.run if self._job else ""))
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


def _exit() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(0)


def _status(run: Run, words: list[str]) -> int:
    """The exit status of a process that does this."""
    try:
        return run(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as Python ends a process
        traceback.print_exc()
        return 1
