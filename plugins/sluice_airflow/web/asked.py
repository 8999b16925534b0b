"""Asked: questions to what may not answer, each in a thread of its own. A page waits for some
seconds, and those that come meanwhile, or soon after, have the same answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

Answer = TypeVar("Answer")


class _Question(NamedTuple, Generic[Answer]):
    at: float
    answer: Future[Answer]


class Asked(Generic[Answer]):
    """Questions of one kind, by what they are about. There are few."""

    def __init__(self, name: str, wait: float, counts: float) -> None:
        """`wait`: seconds from the question on, for all who wait. `counts`: seconds from it on, in
        which an answer is given again, also if it is an error.
        """
        self.wait, self.counts = wait, counts
        self._name = name
        self._lock = threading.Lock()
        self._questions = dict[str, _Question[Answer]]()

    def answer(self, about: str, ask: Callable[[], Answer]) -> Answer:
        """What `ask` returns. Raises what it raises, and TimeoutError."""
        return self.begun(about, ask)()

    def begun(self, about: str, ask: Callable[[], Answer]) -> Callable[[], Answer]:
        """`answer`, of a question that is asked before anybody waits."""
        with self._lock:
            known = self._questions.get(about)
            if known is None or (known.answer.done() and self._age(known) > self.counts):
                known = self._questions[about] = self._asked(about, ask)
        return lambda: known.answer.result(max(0.0, self.wait - self._age(known)))

    def silent(self, about: str) -> bool:
        """Whether somebody has waited in vain, and there is no answer yet."""
        known = self._questions.get(about)
        return known is not None and not known.answer.done() and self._age(known) > self.wait

    def _age(self, known: _Question[Answer]) -> float:
        return time.monotonic() - known.at

    def _asked(self, about: str, ask: Callable[[], Answer]) -> _Question[Answer]:
        """In a thread for which a server that stops does not wait."""
        made = _Question[Answer](time.monotonic(), Future())
        name = f"{self._name} {about}"
        threading.Thread(target=_work, args=(made.answer, ask), name=name, daemon=True).start()
        return made


def _work(answer: Future[Answer], ask: Callable[[], Answer]) -> None:
    try:
        answer.set_result(ask())
    except BaseException as error:  # noqa: BLE001 - it is the answer: whoever asked raises it
        answer.set_exception(error)
