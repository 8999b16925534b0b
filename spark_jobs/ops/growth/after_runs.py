"""After runs: the state after the last batch of each run, as ops.batches has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from spark_jobs.ops import history
from spark_jobs.ops.growth.trend import Point
from spark_jobs.ops.json_of_tables import BatchLine

if TYPE_CHECKING:
    from upath import UPath

MOST: Final = 2_000
"""The newest batches that are read."""
RUNS: Final = 400
"""The newest runs that are told of them: each is a row of a page's tables."""


def after_runs(root: UPath, pipeline: str) -> list[BatchLine]:
    """The last batch of each run, oldest first. Of the newest MOST batches, at most RUNS."""
    newest = history.batches(root, pipeline, MOST, 0).batches
    last: dict[str | int, BatchLine] = {}
    for batch in newest:
        last.setdefault(batch.run_id or batch.batch, batch)
    return [*islice(last.values(), RUNS)][::-1]


def points(after: Sequence[BatchLine], of: Callable[[BatchLine], int | None]) -> list[Point]:
    """What it counts after each run. Runs where it is not known are left out."""
    return [
        Point(batch.audited_at.timestamp(), float(value))
        for batch in after
        if batch.audited_at is not None and (value := of(batch)) is not None
    ]
