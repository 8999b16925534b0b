"""Sample: some of the rows that a repair would change, for the person who approves it, or who must
find out why it failed; read without Spark.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from spark_jobs.errors.base import visible
from spark_jobs.messages.withheld import SETTING
from spark_jobs.settings.installation import record_bytes
from spark_jobs.table.delta.answer import answer
from spark_jobs.table.delta.door import is_table, open_table
from spark_jobs.values.python_times import rows_of

if TYPE_CHECKING:
    from upath import UPath

LOG = logging.getLogger(__name__)
ROWS = 20
LONGEST = 60
"""Characters of a value."""


def sample(staging: UPath) -> list[dict[str, Any]]:
    """Up to ROWS rows of a staging's changes, first those that no record explains; none without a
    table of changes.

    Keys: op, before, after and explained, as in staged.py. A filter of PyArrow's dataset would find
    nothing: Spark writes no bounds of a boolean column into the log.
    """
    changes = staging / "changes"
    if not is_table(changes):
        return []
    sql = f"SELECT op, before, after, explained FROM changes ORDER BY explained LIMIT {ROWS}"
    return rows_of(answer(sql, {"changes": open_table(changes)}))


def sample_lines(rows: list[dict[str, Any]]) -> list[str]:
    r"""A line for each row of a sample, for a terminal or a log; none without rows. Of a changed
    row each value that differs is told as before -> after.

    >>> old, new = {"carrier": "UA\x1b", "flights": 12}, {"carrier": "UA\x1b", "flights": 13}
    >>> sample_lines([{"op": "changed", "before": old, "after": new, "explained": False}])
    ['1 of the rows that differ:', '  changed, unexplained: carrier UA\\x1b, flights 12 -> 13']
    """
    if not rows:
        return []
    return [f"{len(rows)} of the rows that differ:", *(f"  {_line(row)}" for row in rows)]


def log_sample(staging: UPath) -> None:
    """Nobody is asked about a stage that failed, so its log shows the rows, if values may be."""
    changes = staging / "changes"
    if not record_bytes():
        LOG.warning("the rows that differ are in %s. %s", changes, SETTING)
        return
    try:
        for line in sample_lines(sample(staging)):
            LOG.warning("%s", line)
    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw, the verdict stands
        LOG.warning("the rows that differ are in %s: %s", changes, error)


def _line(row: dict[str, Any]) -> str:
    before, after = row["before"], row["after"]
    old, new = before or after, after or before
    told = (
        f"{name} {_text(value)}" + ("" if new[name] == value else f" -> {_text(new[name])}")
        for name, value in old.items()
    )
    return f"{row['op']}{'' if row['explained'] else ', unexplained'}: {', '.join(told)}"


def _text(value: object) -> str:
    return visible(str(value), LONGEST)
