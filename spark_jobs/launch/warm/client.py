"""Client: gives a run to a worker of its root, and follows it to its end; without one, it runs in
the foreground by spark-submit.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from spark_jobs.errors import SluiceError
from spark_jobs.launch import foreground
from spark_jobs.launch.foreground import interrupts
from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.submit import application, command, environment, serve_command
from spark_jobs.launch.warm.fingerprint import taken
from spark_jobs.launch.warm.fits import no_room_because, shown, unfit_because
from spark_jobs.launch.warm.link import (
    PATIENCE_SECONDS,
    Accepted,
    BadMessage,
    Busy,
    Changed,
    Drain,
    Ended,
    Ending,
    Go,
    Gone,
    Link,
    Stop,
    connected,
)
from spark_jobs.launch.warm.place import log_path, socket_path, socket_paths, starting
from spark_jobs.launch.warm.start import Watched, start
from spark_jobs.launch.warm.stay import idle_seconds
from spark_jobs.messages.job import Serve
from spark_jobs.settings.installation import Settings

if TYPE_CHECKING:
    from spark_jobs.messages.job import Preview, Run, Where

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.1


STARTING = "another run is starting a worker"


class _Taken(NamedTuple):
    """Why a worker does not do the run, which another one may."""

    why: str


class Warm:
    """A run that a worker may do. `variables` is its environment, `words` main.py's arguments."""

    def __init__(
        self, settings: Settings, pipeline: str, words: list[str], variables: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._socket = socket_path(settings.root)
        self._command = serve_command(settings, pipeline, self._socket)
        self._variables = dict(variables)
        self._wanted = Drain(
            words,
            self._variables,
            str(Path.cwd()),
            taken(settings, self._command[:-1], self._variables),
            idle_seconds(settings, pipeline),
        )
        self._link: Link | None = None
        self._may_start = True
        self._process: psutil.Process | None = None
        self._ended = False
        self.status = 1
        """The exit status of a run that has ended; 1 until then, and of one that was killed."""

    def begin(self, output: int, error: int) -> str:
        """Give it to a worker that is free, else to one that is started, if memory allows. Returns
        why it must start cold; empty if a worker has begun it, and writes to these descriptors.
        """
        told = list[str]()
        for socket in socket_paths(self._settings.root):
            self._socket = socket
            answer = self._begin(output, error)
            if not isinstance(answer, _Taken):
                return "; ".join(dict.fromkeys([*told, answer])) if answer else ""
            told.append(answer.why)
        return "; ".join(dict.fromkeys(told))

    def _begin(self, output: int, error: int) -> str | _Taken:
        for _ in range(2):  # a second time where a worker has just ended, or was ended
            link = self._found()
            if not isinstance(link, Link):
                return link
            watched = Watched(link.peer)
            answer = _asked(link, self._wanted, (output, error))
            if isinstance(answer, Accepted) and _confirmed(link):
                self._link = link
                with suppress(psutil.NoSuchProcess):
                    self._process = psutil.Process(answer.process)
                return ""
            link.close()
            if answer is None and not watched.ended():
                break  # it may be slow: who asks again only waits twice
            if isinstance(answer, Busy):
                return _Taken(f"the worker is busy: {answer.run}")
            if isinstance(answer, Ending) and answer.run:
                return _Taken(f"the worker ends behind {answer.run}: {answer.why}")
            if isinstance(answer, Changed):
                LOG.info("a new worker: changed since the last one: %s", ", ".join(answer.parts))
            # Of another version of Sluice, which does not understand what a run is.
            if isinstance(answer, BadMessage | Gone) and shown(self._socket, ends=True):
                LOG.info("a new worker: the last one is of another version of Sluice")
        return _Taken(f"the worker does not answer; see {log_path(self._socket)}")

    def follow(self) -> None:
        """Until the run has ended. Ctrl-C asks it to stop; a second one kills the worker."""
        with interrupts() as pressed:
            asked = False
            while not self.over():
                if not pressed:
                    continue
                pressed.pop()
                if asked:
                    LOG.info("ending at once; the next run resumes, as after a kill")
                    self.kill()
                else:
                    LOG.info(
                        "stopping when the batch at work has ended; Ctrl-C again ends it at once"
                    )
                    self.stop()
                asked = True

    def over(self) -> bool:
        """Whether the run has ended, after waiting a moment for that."""
        assert self._link is not None
        try:
            message = self._link.receive(POLL_SECONDS)
            if not isinstance(message, Ended):
                return False
            self.status = message.status
        except (Gone, BadMessage):
            LOG.error(  # noqa: TRY400 - how the link broke says nothing
                "the worker died in this run, or was killed: the next run resumes; see %s",
                log_path(self._socket),
            )
        self._ended = True
        self._link.close()
        return True

    @property
    def ended(self) -> bool:
        """Whether the run has ended, also if `over` has not looked yet: the worker may be at
        another client's run already.
        """
        return self._ended or (self._link is not None and self._link.is_told())

    def stop(self) -> None:
        """Ask the run to stop as SIGTERM would."""
        if self._link is not None:
            with suppress(Gone):
                self._link.send(Stop())

    def kill(self) -> None:
        """SIGKILL to the worker, and so to the run."""
        if not self.ended and self._process is not None and self._process.is_running():
            kill_tree(self._process.pid)

    @property
    def process(self) -> psutil.Process | None:
        """The topmost process of the worker that has the run."""
        return self._process

    def _found(self) -> Link | str | _Taken:
        with suppress(BadMessage):
            if (link := connected(self._socket)) is not None:
                return link
        if not self._may_start:
            return _Taken(STARTING)
        memory = self._asks_for_memory()
        with starting(self._socket, memory=memory) as alone:
            if not alone:
                self._may_start = False  # what that one takes of the memory is not told yet
                return _Taken(STARTING)
            with suppress(BadMessage):  # another run may have started one since
                if (link := connected(self._socket)) is not None:
                    return link
            if memory and (why := no_room_because(self._settings)):
                return why
            command = [*self._command[:-1], *Serve(socket=str(self._socket)).words()]
            found = start(self._socket, command, self._variables, self._wanted.fingerprint)
            return found or f"no worker came up; see {log_path(self._socket)}"

    def _asks_for_memory(self) -> bool:
        """Whether a worker may be started at this socket only where memory is free. With `on` one
        is wanted however much it takes.
        """
        return self._settings.warm != "on" or self._socket != socket_path(self._settings.root)


def begun(
    settings: Settings,
    pipeline: str,
    words: list[str],
    variables: Mapping[str, str],
    records: int,
    files: tuple[int, int],
) -> Warm | None:
    """A run that a worker has begun; None if it must start cold, which is said unless SLUICE_WARM
    is off, or is auto where no worker can be. `files`: its output and error.
    """
    if settings.warm == "off":
        return None
    level = logging.INFO
    try:
        if why := unfit_because(settings, records):
            level = logging.DEBUG if settings.warm == "auto" else logging.INFO
        else:
            run = Warm(settings, pipeline, words, variables)
            if not (why := run.begin(*files)):
                return run
    except (SluiceError, OSError, ValueError) as error:  # nothing has begun: a cold run says it too
        why = f"no worker can be started: {error}"
    LOG.log(level, "this run starts cold: %s", why)
    return None


def _asked(link: Link, wanted: Drain, files: tuple[int, int]) -> object:
    try:
        link.send(wanted, files)
        return link.receive(PATIENCE_SECONDS)
    except (Gone, BadMessage) as error:
        return error


def _confirmed(link: Link) -> bool:
    try:
        link.send(Go())
    except Gone:
        return False
    return True


OUTPUT = (1, 2)
"""The descriptors that a run writes to: standard output and error."""


def asked(settings: Settings, job: Preview | Where, records: int) -> int:
    """Do a job that leaves its answer in files, by a worker where there is one; its exit status.
    What interrupts this ends the job.
    """
    variables = {**os.environ, **environment(settings)}
    if not (warm := begun(settings, job.pipeline, job.words(), variables, records, OUTPUT)):
        return foreground.run(command(settings, job, records), variables)
    try:
        warm.follow()
    except BaseException:
        warm.kill()
        raise
    return warm.status


def run(settings: Settings, job: Run, records: int) -> None:
    """Do the job to its end; its report says how it ended. `records`: how many it will read; 0 if
    unknown.
    """
    variables = {**os.environ, **environment(settings)}
    if warm := begun(settings, job.pipeline, job.words(), variables, records, OUTPUT):
        warm.follow()
        return
    words = command(settings, job, records)
    foreground.run_in_foreground(words, variables, application(settings.spark_env))
