"""Open groups: how many records are in the state, as each run counts them for its account. What a
person asks of a state is reader.py's.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from spark_jobs.spec import Pipeline
from spark_jobs.state.table import Stores, store_columns

MOST_STATE_ROWS = 500_000
"""Rows of state up to which a run reads them: more would take longer than most deliveries."""


def records_in_groups(stores: Stores, spec: Pipeline, index: int) -> int | None:
    """The sum of the measure `counted_by` over all groups that are open then.

    None if the state does not tell which of its buffers is that measure's
    (store_columns.buffer_names).
    """
    step = spec.steps[index]
    # By the spec: to read the operators' metadata is a job.
    operator = sum(later.stateful for later in spec.steps[index + 1 :])
    rows = stores.rows(operator)
    counts = next(
        (
            column.expression
            for column in store_columns(rows, "stateStoreSave", step)
            if column.role == "value" and column.name == step.counted_by
        ),
        None,
    )
    if counts is None:
        return None
    [[records]] = rows.select(F.coalesce(F.sum(counts), F.lit(0))).collect()
    return int(records)
