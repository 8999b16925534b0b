"""Done: repairs whose computed rows are in the table, or wait for a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.errors import RepairUnknown
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths

ENDED: Final = "('swapped', 'canonical', 'staged')"
"""SQL: the states of repairs whose computed rows are in the table, or can still be."""


class Done(NamedTuple):
    """A repair of ops.repairs."""

    at: datetime
    spans: tuple[Span, ...]
    row: dict[str, Any]


def newest_of(found: Sequence[Done], span: Span) -> Done | None:
    within = (each for each in found if any(part.overlaps(span) for part in each.spans))
    return max(within, key=lambda each: each.at, default=None)


def repairs_of(paths: Paths, generations: Sequence[str]) -> tuple[list[Done], list[Done]]:
    where = f"state IN {ENDED} AND {ops_tables.among('generation', generations)}"
    rows = repairs.stored(paths.root, paths.pipeline, where)
    made = [
        Done(
            row["swapped_at"] or row["staged_at"],
            tuple(Span(part["start"], part["end"]) for part in row["ranges"] or ()),
            row,
        )
        for row in rows
        if row["swapped_at"] or row["staged_at"]
    ]
    waits = [
        each
        for each in made
        if each.row["state"] == "staged"
        and each.row["generation"] == generations[-1]
        and _unanswered(paths, each.row["repair_id"])
    ]
    return [each for each in made if each.row["state"] != "staged"], waits


def _unanswered(paths: Paths, repair_id: str) -> bool:
    """One that was approved, and not swapped in, is not worth the wait: its swap was cut off, or a
    drain was in its way.
    """
    try:
        return not read_manifest(paths, repair_id).approved
    except RepairUnknown:
        return False
