"""Growth: bars beside numbers in a terminal's table, to see whether they grow."""

from __future__ import annotations

from typing import Final

from spark_jobs.ops.views import Rows

CELLS: Final = 20
"""The longest bar."""
EIGHTHS: Final = " ▏▎▍▌▋▊▉"
BARRED: Final = {"state_rows": "state", "rows_out": "rows"}
"""A column of numbers -> the column of its bars."""


def with_bars(rows: Rows) -> Rows:
    """The same rows, with a column of bars behind each of these numbers. The longest bar is the
    largest number of a pipeline, or of all rows if no column names the pipeline.
    """
    for name, title in BARRED.items():
        if name in rows.names:
            rows = _barred(rows, name, title)
    return rows


def bar(value: float | None, most: float) -> str:
    """A bar of at most CELLS, in eighths of a cell; at least one eighth for what is not 0.

    >>> bar(10, 20), bar(1, 1_000_000), bar(0, 20), bar(None, 20)
    ('██████████', '▏', '', '')
    """
    if not value or most <= 0:
        return ""
    eighths = max(1, round(8 * CELLS * value / most))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _barred(rows: Rows, name: str, title: str) -> Rows:
    place = rows.names.index(name)
    of = rows.names.index("pipeline") if "pipeline" in rows.names else None
    most: dict[object, float] = {}
    for row in rows.values:
        group = None if of is None else row[of]
        most[group] = max(most.get(group, 0), row[place] or 0)
    values = tuple(
        (
            *row[: place + 1],
            bar(row[place], most[None if of is None else row[of]]),
            *row[place + 1 :],
        )
        for row in rows.values
    )
    return Rows((*rows.names[: place + 1], title, *rows.names[place + 1 :]), values)
