"""The worker: takes one drain at a time from the clients of this user, and ends by itself.

Its main thread does the drains, as the main thread of main.py does one. Other threads listen
(reception.py). When it ends is told by values alone: the clock and the memory are arguments.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from spark_jobs.launch import processes
from spark_jobs.launch.scratch import remove_own
from spark_jobs.launch.session import within
from spark_jobs.launch.warm.inside.idle import CLEAN_SECONDS, Idle
from spark_jobs.launch.warm.inside.jvm import Jvm, Spark
from spark_jobs.launch.warm.inside.life import ENDED, Limits
from spark_jobs.launch.warm.inside.output import OwnLog, followed, write_all
from spark_jobs.launch.warm.inside.reception import Job, Reception, Turn
from spark_jobs.launch.warm.inside.surroundings import as_a_process
from spark_jobs.launch.warm.link import Shown
from spark_jobs.launch.warm.place import Address, idling, log_path
from spark_jobs.launch.warm.start import BORN
from spark_jobs.settings.installation import Settings
from spark_jobs.storage import failpoint

Run = Callable[[list[str]], int]
COLLECT_EVERY = 10
"""Drains between two collections of all garbage, which nobody waits for but a drain that comes in
the same second.
"""
STOP_SECONDS = 30.0
"""How long Spark may take to stop."""


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
        idle: Idle,
        start: Callable[[], Spark] = Jvm,
    ) -> None:
        self._folder = address.parent
        self._socket = address
        self._address = Address(address)
        self._turn = Turn(self._address)
        self._log = OwnLog(log_path(address))
        self._reception = Reception(self._turn, born, self._log, self._shown)
        self._limits = limits
        self._run = run
        self._idle = idle
        self._start = start
        self._started_at = datetime.now(UTC)
        self._drains = 0
        self._awaited_until = 0.0
        """A run may come until then, of the clock that never goes back."""

    def work(self) -> NoReturn:
        """Until it ends, and the process with it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._turn.end("it was asked to"))
        processes.watch(generations=1)  # its starter is not its owner
        self._jvm = self._start()
        os.chdir(self._folder)  # its starter's folder may go
        self._reception.open(self._address.listen())
        self._log.note("it waits for drains")
        while (job := self._next()) is not None:
            self._do(job)
        self._leave()

    def _next(self) -> Job | None:
        return self._turn.next(self._waits(), self._limits.short_because, self._meanwhile)

    def _waits(self) -> float:
        return max(self._limits.idle_seconds, self._awaited_until - time.monotonic())

    def _awaits_run(self) -> bool:
        """Whether a client has asked it to wait for a scheduled run, and that one is not near."""
        return self._waits() > self._limits.idle_seconds

    def _meanwhile(self, rested: float) -> None:
        """Nobody has wanted the worker for so many seconds."""
        self._idle.tidy(self._drains)
        if not self._awaits_run() or not self._idle.is_due(self._drains, rested):
            return
        with idling(self._socket) as alone:
            if alone:
                self._idle.do(self._jvm, self._turn, self._log, self._drains, self._leave_at_once)
        if why := self._limits.end_because(0, self._drains, self._memory_mb()):
            self._turn.end(why)

    def _do(self, job: Job) -> None:
        try:
            self._jvm.new_session()
        except Exception as error:  # noqa: BLE001 - the JVM is gone, or in no state for a drain
            why = f"it cannot make a session: {error}"
            self._leave_at_once(why, lambda: job.refuse(why))
        if not job.begins():
            self._log.note(f"dropped, as its client does not say that it waits: {job.run}")
            self._turn.rest()
            return
        self._log.note(f"drain {self._drains + 1}: {job.run}")
        with followed(self._log.file, job.link.files[1]):
            status, left = self._ran(job)
            # Behind a failure a query may be at work yet, and the lease is free.
            failed = status not in ENDED
            problem = left or ("" if failed else within(CLEAN_SECONDS, self._jvm.clean))
        self._drains += 1
        self._awaited_until = max(self._awaited_until, time.monotonic() + job.wanted.idle_seconds)
        self._log.note(f"the drain ended with exit status {status}")
        if failed or problem:
            self._leave_at_once(self._problem(job, status, problem), lambda: job.answer(status))
        self._turn.rest(self._problem(job, status))
        job.answer(status)
        if self._drains % COLLECT_EVERY == 0 and (left := within(CLEAN_SECONDS, self._jvm.collect)):
            self._leave_at_once(f"it cannot collect its garbage: {left}")

    def _ran(self, job: Job) -> tuple[int, str]:
        """The exit status of a process that does this, and what that process left in this one."""
        wanted, status, left = job.wanted, 1, list[str]()
        try:
            with as_a_process(wanted.variables, wanted.folder, job.link.files[0]) as left:
                failpoint.read_again()
                status = _status(self._run, wanted.words)
        except BaseException:  # noqa: BLE001 - a folder that is gone, or no thread for the output
            write_all(traceback.format_exc().encode(errors="backslashreplace"), job.link.files[1])
            status = 1
        finally:
            job.end()
        return status, "; ".join(left)

    def _problem(self, job: Job, status: int, left: str = "") -> str:
        if job.abandoned:
            return "the client of its drain is gone"
        if left:
            return f"it cannot clean up: {left}"
        return self._limits.end_because(status, self._drains, self._memory_mb())

    def _memory_mb(self) -> int:
        with suppress(Exception):
            return self._jvm.memory_mb()
        return 0

    def _leave(self) -> NoReturn:
        """No thread of Spark or of a pipeline's code holds it up."""
        self._log.note(f"it ends: {self._turn.ending}")
        if why := within(STOP_SECONDS, self._jvm.stop):
            self._log.note(f"Spark does not stop: {why}")
            self._jvm.kill()
        _exit()

    def _leave_at_once(self, why: str, tell: Callable[[], None] = lambda: None) -> NoReturn:
        """Before that `tell` the client, if there is one: what the JVM has at work does not outlive
        the answer.
        """
        self._turn.retire(why, at_once=True)
        self._log.note(f"it ends at once: {self._turn.ending}")
        if left := within(STOP_SECONDS, self._jvm.kill):
            self._log.note(f"its JVM may live: {left}")
        within(STOP_SECONDS, remove_own)
        tell()
        _exit()

    def _shown(self) -> Shown:
        job = self._turn.job
        return Shown(
            os.getppid(),
            self._started_at.isoformat(timespec="seconds"),
            self._drains,
            self._memory_mb(),
            job.run if job else "",
            self._turn.ending,
            self._idle.done,
            self._idle.seconds,
            self._awaits_run() and self._idle.warms(self._drains),
        )


def _exit() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(0)


def _status(run: Run, words: list[str]) -> int:
    try:
        return run(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as Python ends a process
        traceback.print_exc()
        return 1


def serve(socket: str, run: Callable[[list[str]], int]) -> int:
    """Be a worker at this socket until it ends. `run` does one drain, by its words."""
    born = json.loads(os.environ.pop(BORN))
    settings = Settings.from_environment()
    Worker(Path(socket), born, Limits.of(settings), run, Idle.of(settings)).work()
