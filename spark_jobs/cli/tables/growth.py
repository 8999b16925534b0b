"""Growth: what the runs of a table read, wrote and left in state, as lines of blocks."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.ops.views import Rows
from spark_jobs.pages.amounts import Unit
from spark_jobs.pages.charts.blocks import line

SERIES: dict[str, tuple[str, Unit]] = {
    "state_rows": ("state", "rows"),
    "rows_out": ("written", "rows"),
    "read": ("read", "records"),
}
"""Column -> what its numbers are, and their unit."""


def growth(rows: Rows) -> Iterator[str]:
    """A line for each of these columns, of each pipeline, oldest left."""
    of = rows.names.index("pipeline") if "pipeline" in rows.names else None
    for name in dict.fromkeys("" if of is None else str(row[of]) for row in rows.values):
        own = [row for row in reversed(rows.values) if of is None or row[of] == name]
        for column, (told, unit) in SERIES.items():
            if column in rows.names:
                values = [row[rows.names.index(column)] for row in own]
                yield f"{name} {told:<8}{line(values, unit)}".lstrip()
