"""Initial state: the table from which a GroupState gets its first states. It is read once, before
the first batch, so later batches need no version of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import InitialStateMissing
from spark_jobs.storage.root.live_place import named_live
from spark_jobs.storage.root.store import opened
from spark_jobs.table.tables import own_table
from spark_jobs.values.own_columns import DELETED, OF_A_KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

    from spark_jobs.spec import GroupState


def initial_state_path(given: str, root: UPath) -> str:
    """The path of that table: as it is given, or by its name: of a pipeline, its live one."""
    if "/" in given:
        return given
    named = named_live(root / "checkpoints" / given) or {}
    return str(root / "tables" / (named.get("table") or given))


def initial_state(spark: SparkSession, step: GroupState, root: UPath) -> DataFrame | None:
    """The Delta table for handleInitialState in the first batch; None if the step names none.

    Raises InitialStateMissing.
    """
    if step.initial_state is None:
        return None
    path = initial_state_path(step.initial_state, root)
    stored = own_table(opened(path))
    if not stored.exists():
        raise InitialStateMissing.initial_table_absent(path=path)
    table = stored.read(spark, stored.version())
    if DELETED in table.columns:  # one that follows a key also has the deletes that it remembers
        table = table.where(f"NOT `{DELETED}`").drop(*OF_A_KEY)
    missing = [key for key in step.keys if key not in table.columns]
    if missing:
        raise InitialStateMissing.initial_key_absent(
            path=path,
            missing=missing[0],
            columns=", ".join(table.columns),
        )
    return table
