"""Contention: another writer changed the table between the moment at which a commit read it and the
commit.

Delta then refuses the commit, and nothing of it is in the table (its docs: "Concurrency control").
OPTIMIZE is such a writer for MERGE and overwrite, though it changes no row: files that the commit
has read are gone. Appends read nothing, and go on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from spark_jobs.errors import TableContended

LOG = logging.getLogger(__name__)
ATTEMPTS = 5
_CONFLICT = re.compile(r"io\.delta\.exceptions\.(?P<name>\w+Exception): (?P<text>[^\n]+)")
OF_FILES = frozenset(
    {
        "ConcurrentAppendException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentDeleteReadException",
        "ConcurrentWriteException",
    }
)
"""Conflicts after which the same commit succeeds, once it has read the table anew.

Others are about the table's columns and features, or a second writer of the same batch.
"""


class Conflict(NamedTuple):
    """Delta's exception."""

    name: str
    text: str


def conflict(error: BaseException) -> Conflict | None:
    """The conflict of commits that the error is; None for another error.

    Delta's Python exceptions exist only once delta.tables is imported; before that it is Java's.
    """
    kind = type(error)
    if kind.__module__.startswith("delta.exceptions"):
        return Conflict(kind.__name__, _first_line(str(error)))
    found = _CONFLICT.search(str(error))
    return Conflict(found["name"], _first_line(found["text"])) if found else None


def again(commit: Callable[[], object], path: str) -> None:
    """Make the commit, and make it anew after a conflict of files, ATTEMPTS times in all.

    Only for a commit whose rows are cached: a batch of a stateful query may run only once.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            commit()
        except Exception as error:
            found = conflict(error)
            if found is None or found.name not in OF_FILES or not left:
                raise
            LOG.warning("%s was changed while the batch was written: written again", path)
        else:
            return


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """Raise Delta's conflicts within the block as TableContended."""
    try:
        yield
    except Exception as error:
        found = conflict(error)
        if found is None:
            raise
        raise TableContended.written_meanwhile(
            path=path,
            conflict=found.name,
            error=found.text,
        ) from None


def _first_line(text: str) -> str:
    """What happened, without Delta's advice and link."""
    first = next(iter(text.strip().splitlines()), "no message")
    return f"{first.partition(' Please retry')[0][:300].rstrip('.')}."
