"""Canonical join: what a Join gives where all records of both topics are there at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from spark_jobs.steps.canonical.deduplicate import arrival, canonical
from spark_jobs.steps.join import outer_joined, output
from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from spark_jobs.spec import Join
    from spark_jobs.steps.canonical.chain import Given


def all_at_once(inputs: Mapping[str, DataFrame], step: Join, given: Given) -> DataFrame:
    """The pairs of the rows of both, each without copies, and the left rows without one if they
    leave.
    """
    time, delay = given.event_time, given.spec.watermark_delay or timedelta()

    def once(name: str) -> DataFrame:
        rows = inputs[name]
        for each in step.before.get(name, ()):
            rows = canonical(rows, each, time, delay, arrival(rows))
        return rows.drop(KAFKA)

    left, right = map(once, step.takes)
    return output(outer_joined(left, right, step), step)
