"""Taken back: the repairs that a rewind takes out of the table, because they came after the version
that it restores.

Their records wait for a repair again. A repair whose undo is taken back is in the table again; what
became of its records is not restored: the next repair of its ranges finds that nothing differs, and
writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spark_jobs.ops import repairs
from spark_jobs.ops.repairs import UNDO

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths
    from spark_jobs.ops.schema import Row


def taken_back(paths: Paths, generations: Iterable[str], version: int) -> list[Row]:
    """The repairs and undos after that version of the table, in their order."""
    return repairs.swapped_after(paths.root, paths.pipeline, generations, version)


def told(rows: list[Row]) -> tuple[str, ...]:
    """It in words, a line each, before it is done."""
    lines = (
        f"undo the undo of repair {row['repair_id'].removesuffix(UNDO)}, of table version "
        f"{row['table_version']}"
        if row["repair_id"].endswith(UNDO)
        else f"undo repair {row['repair_id']}, of table version {row['table_version']}: its "
        f"{_records(row)} again"
        for row in rows
    )
    return tuple(lines)


def _records(row: Row) -> str:
    if row["kind"] == "replay":
        return "quarantined records wait for a replay"
    return "late records wait for a repair"


def take_back(paths: Paths, generations: Iterable[str], version: int) -> None:
    """Write it to ops.repairs and ops.merged. Once done, there is nothing to do."""
    rows = taken_back(paths, generations, version)
    undone = [row["repair_id"].removesuffix(UNDO) for row in rows if UNDO in row["repair_id"]]
    back = [
        row | {"state": "swapped"}
        for row in (repairs.one(paths.root, paths.pipeline, each) for each in undone)
        if row and row["table_version"] <= version
    ]
    # First: an undo that has ended is not found again, after a kill in between.
    repairs.put(paths.root, back)
    repairs.end(paths.root, rows, "undone")
