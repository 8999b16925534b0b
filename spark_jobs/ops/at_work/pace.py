"""Pace: how fast a drain reads, and when all is read, with what that is measured by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from spark_jobs.messages.kind import LIVE_KINDS
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.json_of_tables import BatchLine

LAST: Final = 5
"""Batches, or drains."""


class Pace(NamedTuple):
    """What is measured by so many."""

    basis: Literal["batches", "runs"]
    measured: int
    records: float
    """A second."""
    offsets: float
    """A second; more than the records where transactions leave gaps."""

    def seconds(self, left: int, elapsed: float) -> float | None:
        """How long so many offsets take, some read for so long; None if it takes longer."""
        if not left:
            return 0.0
        seconds = left / self.offsets - elapsed
        return seconds if seconds > 0 else None


def pace(root: UPath, pipeline: str, batches: Sequence[BatchLine]) -> Pace | None:
    """By the run's last batches; before the first, by the last drains that read something."""
    of_batches = [
        (batch.account.read, batch.account.covered, batch.seconds)
        for batch in batches
        if batch.seconds and batch.account.read
    ][-LAST:]
    if of_batches:
        return _pace("batches", of_batches)
    rows = ops_tables.query(
        root,
        "runs",
        f"SELECT read, query_seconds FROM runs WHERE {ops_tables.equals({'pipeline': pipeline})} "
        f"AND {ops_tables.among('kind', LIVE_KINDS)} AND status = 'succeeded' AND read > 0 "
        f"AND query_seconds > 0 ORDER BY started_at DESC LIMIT {LAST}",
    ).to_pylist()
    of_runs = [(row["read"], row["read"], row["query_seconds"]) for row in rows]
    return _pace("runs", of_runs) if of_runs else None


def _pace(basis: Literal["batches", "runs"], each: Sequence[tuple[int, int, float]]) -> Pace:
    records, offsets, seconds = (sum(column) for column in zip(*each, strict=True))
    return Pace(basis, len(each), records / seconds, offsets / seconds)
