"""Apart: the routes read in threads of their own, and none longer than SECONDS.

Airflow answers its own requests in threads that all apps of the server share. A store that takes
requests and does not answer them would take these threads one by one. So each pipeline has a few
threads, and each route that is of none: what does not answer takes no other's.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, Final

from fastapi.routing import APIRoute

from sluice_airflow.web.ops import READS
from spark_jobs.errors import RootUnreachable

SECONDS = 15.0
"""Of the whole answer; the largest page that was measured takes 4 (bench/NOTES.md)."""
MOST_THREADS: Final = 2
"""Of one pipeline."""
A_ROOT: Final = "A root"
Work = Callable[[], Any]


class Threads:
    """At most so many at once, begun as they are needed. A server that stops does not wait for
    them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._at_work = dict[Future[Any], float]()
        self._waiting = deque[tuple[Future[Any], Work]]()

    def submit(self, work: Work) -> Future[Any]:
        """The answer to come. If it is cancelled before it is begun, it never is."""
        answer: Future[Any] = Future()
        with self._lock:
            self._waiting.append((answer, work))
        self._begin()
        return answer

    def stuck(self, seconds: float) -> bool:
        """Whether all of them have been at what they do for longer."""
        began = [*self._at_work.values()]
        return len(began) == self._most and time.monotonic() - max(began) > seconds

    def _begin(self) -> None:
        """Begin the next one; where the machine has no thread for it, it and each behind it has
        that for an answer.
        """
        while (waits := self._next()) is not None:
            answer, work = waits
            thread = threading.Thread(
                target=self._work, args=(answer, work), name="sluice views", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                del self._at_work[answer]
                if answer.set_running_or_notify_cancel():
                    answer.set_exception(error)
            else:
                return

    def _next(self) -> tuple[Future[Any], Work] | None:
        """The one that has waited longest, which is at work then; None if it must wait on."""
        with self._lock:
            if not self._waiting or len(self._at_work) == self._most:
                return None
            waits = self._waiting.popleft()
            self._at_work[waits[0]] = time.monotonic()
            return waits

    def _work(self, answer: Future[Any], work: Work) -> None:
        try:
            if answer.set_running_or_notify_cancel():
                answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is the answer: whoever asked raises it
            answer.set_exception(error)
        finally:
            del self._at_work[answer]
            self._begin()


class Shares(dict[str, Threads]):
    """Whose -> its threads."""

    def __missing__(self, whose: str) -> Threads:
        return self.setdefault(whose, Threads(MOST_THREADS))


SHARES: Final = Shares()


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
        pipeline = given.get("pipeline")  # one that the person may read, and so there are few
        threads = SHARES[pipeline or f"route {endpoint.__name__}"]
        if not threads.stuck(SECONDS):
            work = partial(context.run, partial(endpoint, **given))
            answer = asyncio.wrap_future(threads.submit(work))
            done, _ = await asyncio.wait({answer}, timeout=SECONDS)
            if done:
                return answer.result()
            answer.cancel()
        root = context.get(READS, A_ROOT)
        if pipeline:
            raise RootUnreachable.pipeline_silent(root=root, pipeline=pipeline, seconds=SECONDS)
        raise RootUnreachable.root_silent(root=root, seconds=SECONDS)

    return asked
