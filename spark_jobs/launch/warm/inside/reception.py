"""Reception: the threads of a worker that listen to clients, and take a drain or say why not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from socket import socket

from spark_jobs.launch.warm.fingerprint import changed
from spark_jobs.launch.warm.inside.job import Job
from spark_jobs.launch.warm.inside.own_log import OwnLog
from spark_jobs.launch.warm.inside.turn import Turn
from spark_jobs.launch.warm.link import PATIENCE_SECONDS, BadMessage, Gone, Link
from spark_jobs.launch.warm.message import Busy, Changed, Drain, End, Ending, Look, Shown


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
