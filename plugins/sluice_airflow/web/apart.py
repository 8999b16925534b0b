"""Apart: the routes read in a few threads of their own, and none longer than SECONDS.

Airflow answers its own requests in threads that all apps of the server share. A store that takes
requests and does not answer them would take these threads one by one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial, wraps
from inspect import iscoroutinefunction
from queue import SimpleQueue
from typing import Any, Final

from fastapi.routing import APIRoute

from sluice_airflow.web.ops import READS
from spark_jobs.errors import RootUnreachable

SECONDS = 15.0
"""Of the whole answer; the largest page that was measured takes 4 (bench/NOTES.md)."""
MOST_THREADS: Final = 8
A_ROOT: Final = "A root"
Work = Callable[[], Any]


class Threads:
    """At most so many, begun as they are needed. A server that stops does not wait for them."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._lock = threading.Lock()
        self._at_work = dict[Future[Any], float]()
        self._waiting: SimpleQueue[tuple[Future[Any], Work]] = SimpleQueue()

    def submit(self, work: Work) -> Future[Any]:
        """The answer to come. If it is cancelled before it is begun, it never is."""
        answer: Future[Any] = Future()
        self._waiting.put((answer, work))
        with self._lock:
            begin, self._left = self._left > 0, max(0, self._left - 1)
        if begin:
            threading.Thread(target=self._work, name="sluice views", daemon=True).start()
        return answer

    def stuck(self, seconds: float) -> bool:
        """Whether all of them have been at what they do for longer."""
        began = [*self._at_work.values()]
        return len(began) == self._most and time.monotonic() - max(began) > seconds

    def _work(self) -> None:
        while True:
            answer, work = self._waiting.get()
            if not answer.set_running_or_notify_cancel():
                continue
            self._at_work[answer] = time.monotonic()
            try:
                answer.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is the answer: whoever asked raises it
                answer.set_exception(error)
            finally:
                del self._at_work[answer]


THREADS: Final = Threads(MOST_THREADS)


class Apart(APIRoute):
    """A route whose function runs there. The functions that it depends on do not: they ask
    Airflow's own database.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(
            path, endpoint if iscoroutinefunction(endpoint) else _apart(endpoint), **more
        )


def _apart(endpoint: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @wraps(endpoint)
    async def asked(**given: Any) -> Any:
        context = copy_context()
        if THREADS.stuck(SECONDS):
            raise RootUnreachable.root_silent(root=A_ROOT, seconds=SECONDS)
        work = partial(context.run, partial(endpoint, **given))
        answer = asyncio.wrap_future(THREADS.submit(work))
        done, _ = await asyncio.wait({answer}, timeout=SECONDS)
        if not done:
            answer.cancel()
            raise RootUnreachable.root_silent(root=context.get(READS, A_ROOT), seconds=SECONDS)
        return answer.result()

    return asked
