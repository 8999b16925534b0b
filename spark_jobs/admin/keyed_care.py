"""Keyed care: the step of `sluice maintain` that forgets deletes of a table that follows a key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.admin.intent import Step
from spark_jobs.table.history import FORGOT
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import DELETED, DELETED_AT
from spark_jobs.values.spans.span_sql import microseconds

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths


def forgotten_steps(paths: Paths, before: datetime) -> Iterator[Step]:
    """A step, if the table remembers deletes of batches planned before this time."""
    table = table_of(paths)
    if not table.exists() or not table.takes_removals():
        return  # its drains forget them (sink/keyed/forgetting.py)
    where = f"{DELETED} AND CAST({DELETED_AT} AS BIGINT) < {microseconds(before)}"
    [row] = table.query(f"SELECT count(*) AS n FROM t WHERE {where}").to_pylist()
    if row["n"]:
        yield Step(
            f"forget {row['n']:,} deletes of {paths.table} from before {before:%F %H:%M}",
            partial(table.remove, where, said={FORGOT: where}),
        )
