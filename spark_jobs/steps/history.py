"""History in Spark: as a Latest, with columns for the spans. What is in them is decided behind the
query (keyed/merge.py).
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import History
from spark_jobs.spec.steps.history import CURRENT, SPAN, VALID_FROM, VALID_TO
from spark_jobs.steps.latest import marked
from spark_jobs.steps.operator import At, StepContext
from spark_jobs.values.own_columns import DELETED


class HistoryOperator(NamedTuple):
    """It keeps no state in Spark."""

    step: History

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """The changes as `marked` has them, each as if it were alone: valid for ever."""
        what = f"step {context.step_index + 1} (history) of {context.spec.name}"
        if taken := [name for name in rows.columns if name.lower() in SPAN]:
            raise SpecInvalid.column_taken(what=what, name=taken[0])
        changes = marked(rows, self.step, context.spec, context.step_index)
        time = F.col(f"`{self.step.time}`")
        never = F.lit(None).cast(changes.schema[self.step.time].dataType)
        return changes.withColumns({VALID_FROM: time, VALID_TO: never, CURRENT: ~F.col(DELETED)})

    def counts(self) -> list[Column]:
        return []

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        return marked(rows, self.step, at.spec, at.step_index)
