"""Ranges, as a spec declares them: how a range of the output is computed again from its records."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import ColumnName
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import Model, refuse


class Ranges(Model):
    """What Sluice cannot know of a pipeline's output, and how its repairs begin and end."""

    by: ColumnName | None = None
    """the output column with a row's event time: needed behind a GroupState, and behind a Transform
    with sql or a function after the last stateful step
    """
    context: Duration | None = Described(default=None, strict=False)
    """how far before a row's time the events of a GroupState may be on which the row depends; of
    sessions: the longest time from a session's start to its end
    """
    settle: Duration = Described(default=timedelta(), strict=False)
    """how far behind a row's time the events of a GroupState may be on which it depends"""
    every: Literal["hour", "day"] = "day"
    """the intervals that Airflow's form of a backfill offers"""
    repair: Literal["by hand", "after drain"] = "by hand"
    """who starts repairs. after drain: the pipeline's DAG, behind its publish, when late records
    wait that no repair has tried yet, and drains no longer write their rows
    """
    approve: Literal["unexplained", "always", "never"] = "unexplained"
    """when a person must agree before a repair changes the table; unexplained: if rows change that
    no late or replayed record explains
    """

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.context is not None and self.context <= timedelta():
            refuse(
                "context",
                str(self.context),
                "the rows of a GroupState and sessions depend on earlier events of their key",
                "Write for example '48 hours'",
            )
        if self.settle < timedelta():
            refuse("settle", str(self.settle), "it is negative", "Write '0 seconds' or more")
        return self
