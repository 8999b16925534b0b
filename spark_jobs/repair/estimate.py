"""Estimate: about how long the computation of a plan takes, by the runs that the pipeline had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.contract.duration import approximate
from spark_jobs.contract.kind import REPAIR_KINDS
from spark_jobs.ops import ops_tables
from spark_jobs.ops.phases import seconds_of

if TYPE_CHECKING:
    from upath import UPath

RECENT: Final = 50
"""Runs that are looked at, the newest: code, machine and settings change."""
NEAREST: Final = 5
"""Of them, those that count: that have read about as much. Of few records each takes longer."""
FAR: Final = 10
"""Times as many records as any of them: a record of so small runs says little of a large one's."""


class _Run(NamedTuple):
    records: int
    start: float
    """Seconds until Spark was ready."""
    rest: float
    """Seconds from then to the end."""

    @property
    def rate(self) -> float:
        return self.records / self.rest


def time_line(root: UPath, pipeline: str, records: int) -> str:
    """The plan's line: the median start, and the records by the median rate, of those repairs of
    the pipeline that read about as many; of drains, where nothing was computed again yet.

    Seconds are those of ops.runs, without those before the driver began. Nobody can tell how long a
    person takes to answer, and the swap is short.
    """
    runs, of = _runs(root, pipeline, REPAIR_KINDS), "earlier repair"
    if not runs:
        runs, of = _runs(root, pipeline, ("drain",)), "drain"
    if not runs:
        return "  about           no run yet to tell by how long it takes"
    near = sorted(runs, key=lambda run: abs(math.log(run.records / max(records, 1))))[:NEAREST]
    start = median(run.start for run in near)
    whole = timedelta(seconds=start + records / median(run.rate for run in near))
    most = "at most " if records > FAR * max(run.records for run in near) else ""
    many = "" if len(near) == 1 else "s"
    none = "; it has no repair yet" if of == "drain" else ""
    return (
        f"  about           {most}{approximate(whole)}, {start:.0f} s of it start-up "
        f"(by {len(near)} {of}{many} of this pipeline{none})"
    )


def _runs(root: UPath, pipeline: str, kinds: Sequence[str]) -> list[_Run]:
    """The newest that computed, whatever was found of their rows then."""
    own = ops_tables.equals({"pipeline": pipeline})
    rows = ops_tables.query(
        root,
        "runs",
        f'SELECT "read", started_at, ended_at, report FROM runs WHERE {own} '
        f'AND {ops_tables.among("kind", kinds)} AND query_seconds > 0 AND "read" > 0 '
        f"ORDER BY started_at DESC LIMIT {RECENT}",
    ).to_pylist()
    found = []
    for row in rows:
        phases = seconds_of(row["report"])
        start = phases.get("settle", 0) + phases.get("start", 0)
        rest = (row["ended_at"] - row["started_at"]).total_seconds() - start
        if "start" in phases and rest > 0:
            found.append(_Run(row["read"], start, rest))
    return found
