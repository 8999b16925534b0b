"""Budget: the processor seconds that a night's proofs may take: a share of what the last week's
drains took, by the reports in ops.runs.
"""

from __future__ import annotations

import json
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
WEEK = timedelta(days=7)


class Budget(NamedTuple):
    """What proofs may take now, in processor seconds."""

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
    waited = WEEK if last is None else max(now - last, timedelta())
    took, spent = sum(map(_of_row, drains)), sum(map(_of_row, proofs))
    a_week = share * took
    return Budget(
        took,
        spent,
        max(min(a_week * (waited / WEEK), a_week - spent), 0.0),
        max(map(_of_row, proofs)) if proofs else median(map(_of_row, drains)) if drains else 0.0,
    )


def seconds(counted: float | None, started: datetime, ended: datetime) -> float:
    """The processor seconds of a run; where nobody counted them, as long as it took: those of one
    processor.
    """
    return max((ended - started).total_seconds(), 0.0) if counted is None else counted


def _of_row(run: Row) -> float:
    counted = json.loads(run["report"] or "{}").get("processor_seconds")
    return seconds(counted, run["started_at"], run["ended_at"])


def _runs(paths: Paths, kinds: Collection[str], now: datetime) -> list[Row]:
    rows: list[Row] = ops_tables.query(
        paths.root,
        "runs",
        "SELECT run_id, started_at, ended_at, report FROM runs "
        f"WHERE {ops_tables.equals({'pipeline': paths.pipeline})} "
        f"AND {ops_tables.among('kind', kinds)} "
        f"AND ended_at > TIMESTAMP '{(now - WEEK).isoformat()}' "
        f"AND ended_at <= TIMESTAMP '{now.isoformat()}' "
        "AND started_at IS NOT NULL",
    ).to_pylist()
    return rows
