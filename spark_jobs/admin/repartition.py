"""Repartition, as it is shown: what `sluice repartition` would do. runs/repartition.py does it, in
a process with Spark.
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import LeaseHeld
from spark_jobs.runs.to_move import look
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths

ROWS_A_SECOND = 30_000
"""Rows of state that a core reads, writes and reads again: a guess, by what a drain writes."""


class Planned(NamedTuple):
    """What `sluice repartition` would do."""

    lines: tuple[str, ...]
    """For the user."""
    rows: int
    """Rows of state to move."""
    idle: bool
    """Whether there is nothing to do."""


def plan_repartition(spec: Pipeline, settings: Settings, wanted: int) -> Planned:
    """What would be done. Raises what `look` does, and LeaseHeld."""
    paths = Paths(settings.root, spec)
    if held := holder(paths.lease):
        raise LeaseHeld.held(folder=paths.lease.parent, holder=held)
    if note := under_way(paths):
        said = f"{spec.name}: bring to its end, or take back: {note.words}; then look what to move"
        return Planned((said,), 0, idle=False)
    found = look(spec, paths, wanted)
    state = read_cursor(paths.cursor).state
    lines = [
        f"{spec.name}: {state.rows:,} rows of state, {state.bytes / 1e6:,.1f} MB, in "
        f"{found.number} stores for each stateful step"
    ]
    if found.number == wanted:
        lines += [f"nothing to move: {wanted} stores are what is wanted"]
        return Planned(tuple(lines), 0, idle=True)
    seconds = 20 + state.rows / ROWS_A_SECOND
    lines += [
        f"move the state after batch {found.batch} to {wanted} stores for each step, as batch "
        f"{found.batch + 1}, which reads no record; perhaps {seconds:,.0f} seconds on one core",
        "read the state before and after: the new stores count only if they have the same",
        *_other_than_declared(spec, wanted),
    ]
    return Planned(tuple(lines), state.rows, idle=False)


def _other_than_declared(spec: Pipeline, wanted: int) -> tuple[str, ...]:
    declared = spec.state.shuffle_partitions
    if declared == wanted:
        return ()
    return (
        f"spec.py has shuffle_partitions={declared}: set {wanted} there too, or each run says that "
        "they differ, and a new checkpoint begins with the number in spec.py",
    )
