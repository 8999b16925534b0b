"""Budget: the seconds that the proofs of a night may take: a share of what the last week's drains
took, by ops.runs.

A verify and a drain of one pipeline have the same processors. So a share of the seconds of runs is
that share of processor seconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.messages.kind import PROVING_KINDS, STATE_KINDS
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    from collections.abc import Collection

    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths

RUN_PREFIX = "prove-"
"""Of the runs that count against the budget: what a person verifies does not."""
DAY, WEEK = timedelta(days=1), timedelta(days=7)


class Budget(NamedTuple):
    """What proofs may take now, in seconds."""

    drains: float
    """What the last week's drains took."""
    proofs: float
    """What its proofs took."""
    tonight: float
    """What is left of the share: of a week, and of the days since the last proof."""
    cost: float
    """What one proof is expected to take: as the longest of the week; without one, as half of its
    drains took less. A first load says nothing of a day.
    """


def budget(paths: Paths, share: float, now: datetime) -> Budget:
    """`share`: from 0 to 1."""
    drains, proofs = (_runs(paths, kinds, now) for kinds in (STATE_KINDS, PROVING_KINDS))
    proofs = [each for each in proofs if each["run_id"].startswith(RUN_PREFIX)]
    last = max((each["ended_at"] for each in proofs), default=None)
    waited = DAY if last is None else min(max(now - last, timedelta()), WEEK)
    took, spent = sum(map(seconds, drains)), sum(map(seconds, proofs))
    a_week = share * took
    return Budget(
        took,
        spent,
        max(min(a_week * (waited / WEEK), a_week - spent), 0.0),
        max(map(seconds, proofs)) if proofs else median(map(seconds, drains)) if drains else 0.0,
    )


def seconds(run: Row) -> float:
    """How long a row of ops.runs took."""
    took: timedelta = run["ended_at"] - run["started_at"]
    return max(took.total_seconds(), 0.0)


def _runs(paths: Paths, kinds: Collection[str], now: datetime) -> list[Row]:
    rows: list[Row] = ops_tables.query(
        paths.root,
        "runs",
        "SELECT run_id, started_at, ended_at FROM runs "
        f"WHERE {ops_tables.equals({'pipeline': paths.pipeline})} "
        f"AND {ops_tables.among('kind', kinds)} "
        f"AND ended_at > TIMESTAMP '{(now - WEEK).isoformat()}' "
        f"AND ended_at <= TIMESTAMP '{now.isoformat()}' "
        "AND started_at IS NOT NULL",
    ).to_pylist()
    return rows
