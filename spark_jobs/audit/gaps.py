"""Gaps: what is at a batch's offsets at which Spark read no record."""

from __future__ import annotations

from typing import NamedTuple


class Gaps(NamedTuple):
    """A number of gaps, told apart."""

    aborted: int
    markers: int
    removed: int


def tell_apart(gaps: int, aborted: int, gone: int, *, compacted: bool) -> Gaps:
    """`aborted`: of them, those that a read_uncommitted consumer sees. `gone`: those before the
    first offset that retention has left.

    What is left has no record for anybody: transaction markers, unless Kafka compacts the topic. A
    broker does not tell a marker from a record that compaction removed.

    >>> tell_apart(8, aborted=5, gone=0, compacted=False)
    Gaps(aborted=5, markers=3, removed=0)
    >>> tell_apart(8, aborted=5, gone=0, compacted=True)
    Gaps(aborted=5, markers=0, removed=3)
    """
    aborted = min(aborted, gaps)
    gone = min(gone, gaps - aborted)
    markers = 0 if compacted else gaps - aborted - gone
    return Gaps(aborted, markers, gaps - aborted - markers)
