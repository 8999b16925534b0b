"""Results: answers of the ops tables that a server keeps in memory, bounded.

The answer to a SQL text over one version of its tables never changes. So a page that is looked at
again does not read hundreds of small files again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

SHARE: Final = 4
"""An answer that is larger than the whole by this is not kept: it would push out all others."""


MOST_ANSWERS: Final = 1_000
"""Empty answers have no bytes."""


class Version(NamedTuple):
    """Of a table: -1 where there is none. One that is made anew at its path has another id."""

    path: str
    table: str
    version: int


class Asked(NamedTuple):
    """What was asked of what."""

    tables: tuple[Version, ...]
    sql: str


class Results:
    """The answers that were asked for last, up to `most` bytes of Arrow. For several threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._answers: OrderedDict[Asked, pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, asked: Asked, read: Callable[[], pa.Table]) -> pa.Table:
        """The kept answer, or `read`'s, which is kept then."""
        with self._lock:
            if asked in self._answers:
                self._answers.move_to_end(asked)
                return self._answers[asked]
        found = read()
        with self._lock:
            self._put(asked, found)
        return found

    def _put(self, asked: Asked, found: pa.Table) -> None:
        if asked in self._answers or found.nbytes > self.most // SHARE:
            return
        self._answers[asked] = found
        self.size += found.nbytes
        while self.size > self.most or len(self._answers) > MOST_ANSWERS:
            _, oldest = self._answers.popitem(last=False)
            self.size -= oldest.nbytes


_IN_USE: ContextVar[Results | None] = ContextVar("results of ops tables", default=None)


@contextmanager
def using(results: Results | None) -> Iterator[None]:
    """Within the block, and in this thread, answers are taken from these results and kept there;
    with None nothing is kept.
    """
    token = _IN_USE.set(results)
    try:
        yield
    finally:
        _IN_USE.reset(token)


def kept(asked: Asked, read: Callable[[], pa.Table]) -> pa.Table:
    """The answer, kept if there are results in use."""
    results = _IN_USE.get()
    return read() if results is None else results.answer(asked, read)
