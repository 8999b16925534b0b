"""Phases: the seconds that each phase of the runs took, from their reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import PhaseLine, Phases

if TYPE_CHECKING:
    from upath import UPath


def phases(root: UPath, pipeline: str, limit: int, offset: int) -> Phases:
    """A page of runs, newest first, each with its seconds by phase."""
    where = ops_tables.equals({"pipeline": pipeline})
    rows = ops_tables.query(
        root,
        "runs",
        f"SELECT run_id, started_at, report FROM runs WHERE {where} "
        f"ORDER BY started_at DESC, run_id LIMIT {limit + 1} OFFSET {offset}",
    ).to_pylist()
    return Phases(
        runs=tuple(
            PhaseLine(
                run_id=row["run_id"],
                started_at=row["started_at"],
                seconds=seconds_of(row["report"]),
            )
            for row in rows[:limit]
        ),
        more=len(rows) > limit,
    )


def seconds_of(report: str | None) -> dict[str, float]:
    """Phase -> seconds, of a report of any version: a killed run has none, and the views go on
    without.
    """
    try:
        found = json.loads(report or "{}").get("seconds", {})
    except (ValueError, AttributeError):
        return {}
    return {
        name: float(value)
        for name, value in (found.items() if isinstance(found, dict) else ())
        if isinstance(value, int | float)
    }
