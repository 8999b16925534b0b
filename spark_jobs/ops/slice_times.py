"""Slice times: a slice leaves out the records that are late for certain, since their bytes are in
ops.late. Before these rows expire, the slices take their times in: Kafka or an archive may have
the records for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.ops import ops_tables
from spark_jobs.table.delta import door

if TYPE_CHECKING:
    from upath import UPath

_HIDING = "late > 0"


def without_late(root: UPath, where: str) -> int:
    """How many of the slices, for which the SQL condition holds, leave late records out."""
    counted = ops_tables.query(
        root, "slices", f"SELECT count(*) AS n FROM slices WHERE {where} AND {_HIDING}"
    )
    return int(counted.to_pylist()[0]["n"])


@door.patiently
def add_late(root: UPath, where: str) -> None:
    """Let these slices leave none out, in one commit."""
    first = _either("first_event_time", "<", "first_late_time")
    last = _either("last_event_time", ">", "last_late_time")
    door.open_table(root / "ops" / "slices").update(
        updates={
            "first_event_time": first,
            "last_event_time": last,
            "late": "0",
            "first_late_time": "NULL",
            "last_late_time": "NULL",
        },
        predicate=f"{where} AND {_HIDING}",
    )


def _either(one: str, sign: str, other: str) -> str:
    return f"CASE WHEN {one} {sign} {other} THEN {one} ELSE {other} END"
