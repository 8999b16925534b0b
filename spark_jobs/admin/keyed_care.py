"""Keyed care: the step of `sluice maintain` that forgets deletes of a table that follows a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.admin.table_care import in_words
from spark_jobs.spans.span_sql import microseconds
from spark_jobs.table.delta import door
from spark_jobs.table.delta.answer import answer
from spark_jobs.table.delta.features import untried
from spark_jobs.table.history import FORGOT
from spark_jobs.values.own_columns import DELETED, DELETED_AT

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths
    from spark_jobs.storage.lease_view import Held


def forgotten_steps(
    paths: Paths, before: datetime
) -> Iterator[tuple[str, Callable[[Held], object]]]:
    """A line and a function, if the table remembers deletes of batches planned before this time."""
    if not door.is_table(paths.table) or untried(table := door.open_table(paths.table)):
        return  # its drains forget them (sink/keyed/forgetting.py)
    where = f"{DELETED} AND CAST({DELETED_AT} AS BIGINT) < {microseconds(before)}"
    [row] = answer(f"SELECT count(*) AS n FROM t WHERE {where}", {"t": table}).to_pylist()
    if row["n"]:
        yield (
            f"forget {row['n']:,} deletes of {paths.table} from before {before:%F %H:%M}",
            partial(_forget, paths, where),
        )


def _forget(paths: Paths, where: str, held: Held) -> None:
    table = door.confirmed(paths.table, held)
    with in_words(paths.table):
        table.delete(where, commit_properties=door.here({FORGOT: where}))
