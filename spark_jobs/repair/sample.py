"""Sample: some of the rows that a repair would change, for the person who approves it; read without
Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import deltalake

from spark_jobs.storage.answer import table_of
from spark_jobs.storage.delta import is_table, open_table

if TYPE_CHECKING:
    from upath import UPath

ROWS = 20


def sample(staging: UPath) -> list[dict[str, Any]]:
    """Up to ROWS rows of a staging's changes, first those that no record explains; none without a
    table of changes.

    Keys: op, before, after and explained, as in staged.py. A filter of PyArrow's dataset would find
    nothing: Spark writes no bounds of a boolean column into the log.
    """
    changes = staging / "changes"
    if not is_table(changes):
        return []
    found = (
        deltalake.QueryBuilder()
        .register("changes", open_table(changes))
        .execute(
            f"SELECT op, before, after, explained FROM changes ORDER BY explained LIMIT {ROWS}"
        )
    )
    rows: list[dict[str, Any]] = table_of(found).to_pylist()
    return rows
