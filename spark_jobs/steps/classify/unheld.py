"""Unheld: a decoded record with a time that the pipeline's GroupState cannot hold is malformed, if
no Transform removes it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.unholdable import within
from spark_jobs.values.gap import Unheld
from spark_jobs.values.own_columns import MALFORMED


def refuse_unheld(decoded: DataFrame, inputs: Topics, limits: Sequence[Unheld]) -> DataFrame:
    """The decoded records, malformed with the limit's reason where there is one. As any malformed
    record they have no event time then. `limits`: as analysis/unheld.py has them.
    """
    if not limits:
        return decoded
    types = inputs.types
    reasons = (_reason(limit, types[limit.field]) for limit in limits)
    time = inputs.event_time
    return decoded.withColumn(MALFORMED, F.coalesce(MALFORMED, *reasons)).withColumn(
        time, F.when(F.col(MALFORMED).isNull(), F.col(time))
    )


def _reason(limit: Unheld, kind: str) -> Column:
    """Why the record is malformed; null if it is not."""
    outside = F.coalesce(within(limit.gaps, limit.field, kind), F.lit(False))
    # Spark looks at the conditions of a record only where the time is outside.
    reached = (F.expr(condition) for condition in limit.reached_if)
    told = F.concat(F.lit(f"{limit.field} is "), F.col(limit.field).cast("string"))
    return F.when(reduce(Column.__and__, reached, outside), F.concat(told, F.lit(f": {limit.why}")))
