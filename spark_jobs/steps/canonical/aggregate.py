"""Canonical groups: an Aggregate over all rows at once, in which each group is final."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.spec.analysis.rounding import deciding
from spark_jobs.steps.aggregate import grouped
from spark_jobs.steps.canonical.rounding import with_moved
from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.spec import Aggregate
    from spark_jobs.steps.canonical.chain import Given


def all_at_once(rows: DataFrame, step: Aggregate, given: Given) -> DataFrame:
    """The groups; with the columns of rounding.py if they are the output's rows, and are asked."""
    rows, time = rows.drop(KAFKA), given.event_time
    groups = grouped(rows, step, time)
    if not given.moved or given.at != deciding(given.spec):
        return groups
    return grouped(rows, with_moved(rows, step, groups.schema), time)
