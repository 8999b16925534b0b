"""Target: where a run keeps its state, writes its rows and notes how far it has come, and as whom it commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.contract.paths import Paths

if TYPE_CHECKING:
    from upath import UPath


class Target(NamedTuple):
    """One query's own places. A drain's are the pipeline's live ones; what only computes beside it has a target of its own."""

    checkpoint: UPath
    """Spark's checkpoint."""
    cursor: UPath
    """How far the account and the checks have come with that checkpoint."""
    table: UPath
    """The Delta table that its batches are written to."""
    owner: str
    """The application id of its Delta transactions (txnAppId): of two owners, each has batches 0, 1, 2 of its own."""

    @classmethod
    def live(cls, paths: Paths, owner: str) -> Target:
        """The pipeline's checkpoint and table, which only the holder of its lease writes."""
        return cls(paths.checkpoint, paths.cursor, paths.table, owner)
