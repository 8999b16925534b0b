"""The steps of a pipeline, as declarations. What each becomes in Spark is in spark_jobs/stateful, one file a step.

A step knows of itself, without Spark, whether it keeps state, what evicts that state, which columns leave it given those
that enter, and which of them is then the event time.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract.columns import Columns, refuse_repeated, refuse_unknown
from spark_jobs.contract.group_state import EvictedBy, GroupState
from spark_jobs.contract.model import Model, refuse
from spark_jobs.contract.sql import refuse_unsafe
from spark_jobs.contract.windows import Window

__all__ = ["Aggregate", "Deduplicate", "GroupState", "Step", "Transform"]


class Deduplicate(Model):
    """Drop records that were delivered before.

    watermark (Spark's dropDuplicatesWithinWatermark): a key is kept until the watermark passes its event time plus the delay.
    event_time (Spark's dropDuplicates with the event time among the keys): until the watermark passes its event time.
    for_ever (Spark's dropDuplicates): always, and the spec must say how much state that may be.
    """

    kind: Literal["deduplicate"] = "deduplicate"
    keys: tuple[str, ...] = Described(
        description="two records with equal keys are one event; ('*',) for all columns", min_length=1
    )
    scope: Literal["watermark", "event_time", "for_ever"] = Described(
        default="watermark",
        description="how long a key is remembered: watermark, until the watermark passes its event time plus the delay; "
                    "event_time, until the watermark passes its event time, which is among the keys; for_ever, always",
    )
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        refuse_repeated("keys", self.keys)
        return self

    @property
    def evicted_by(self) -> EvictedBy:
        return "nothing" if self.scope == "for_ever" else "watermark"

    @property
    def whole_row(self) -> bool:
        """Whether all columns together are the key."""
        return self.keys == ("*",)

    def columns_after(self, columns: Columns) -> Columns:
        if not self.whole_row:
            refuse_unknown("Deduplicate", "keys", self.keys, columns)
        return columns

    def time_after(self, event_time: str | None) -> str | None:
        return event_time


class Aggregate(Model):
    """Group by keys and a window of the event time; measures are Spark SQL aggregates.

    Without a window the groups never close, and every row changes its group for good: for the output modes update and complete.
    """

    kind: Literal["aggregate"] = "aggregate"
    window: Window | None = Described(default=None, description="the window of the event time, if any")
    keys: tuple[str, ...] = Described(default=(), description="grouping columns beside the window")
    measures: dict[str, str] = Described(description="output column -> Spark SQL aggregate", min_length=1)
    counts: str | None = Described(
        default=None, description="the measure that is count(*): the account then also balances accepted rows against groups"
    )
    event_time: str | None = Described(
        default=None, description="a column to make of the window's last instant: the event time of a later stateful step"
    )
    stateful: Literal[True] = True

    @property
    def evicted_by(self) -> EvictedBy:
        return "watermark" if self.window else "nothing"

    @model_validator(mode="after")
    def _named(self) -> Self:
        refuse_repeated("keys", self.keys)
        made = sorted({"window", "window_start", "window_end"} & set(self.keys))
        if made:
            refuse("keys", made, "the aggregation makes columns of that name itself", "Leave it out, or rename the field")
        for name in self.measures:
            refuse_unsafe("measures", self.measures[name])
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
                refuse("measures", name, "a measure becomes a column", "Use lower-case letters, digits and underscores")
        clash = sorted({*self.measures, *filter(None, [self.event_time])} & {*self.keys, "window_start", "window_end"})
        if clash:
            refuse("measures", clash, "the output already has a column of that name", "Rename the measure")
        if self.event_time is not None and (self.window is None or self.event_time in self.measures):
            refuse("event_time", self.event_time, "it is made of the window's last instant, beside the measures",
                   "Give the Aggregate a window, and the column a name of its own")
        if self.counts is not None and self.measures.get(self.counts, "").replace(" ", "").lower() != "count(*)":
            refuse("counts", self.counts, "it is not a measure that is count(*)",
                   "Name the measure whose expression is count(*)")
        return self

    def columns_after(self, columns: Columns) -> Columns:
        refuse_unknown("Aggregate", "keys", self.keys, columns)
        return (*self.group, *self.measures, *filter(None, [self.event_time]))

    def time_after(self, event_time: str | None) -> str | None:  # noqa: ARG002 - as the other steps
        return self.event_time

    @property
    def group(self) -> tuple[str, ...]:
        """The output's columns that name a group."""
        return (*(("window_start", "window_end") if self.window else ()), *self.keys)


class Transform(Model):
    """Anything without state, in one of three ways; the rows that enter are called `rows` in SQL.

    Before the first stateful step it gives at most one row for each row, and keeps the column `kafka`, by which late records
    are found again; a SELECT * does. After it, the rows have no such column.
    """

    kind: Literal["transform"] = "transform"
    where: str | None = Described(default=None, description="Spark SQL: keep the rows for which it holds", min_length=1)
    sql: str | None = Described(default=None, description="a Spark SQL query: SELECT ... FROM rows", min_length=1)
    function: str | None = Described(
        default=None, description="a function DataFrame -> DataFrame in logic.py", pattern=r"^[a-z][a-z0-9_]*$"
    )
    stateful: Literal[False] = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [name for name in ("where", "sql", "function") if getattr(self, name) is not None]
        if len(given) != 1:
            refuse("where", given, "a Transform works in one way", "Give one of where=, sql= and function=")
        refuse_unsafe("where", self.where or "")
        refuse_unsafe("sql", self.sql or "", query=True)
        if self.sql is not None and not re.search(r"\brows\b", self.sql):
            refuse("sql", self.sql, "it does not read the rows that enter", "Write SELECT ... FROM rows")
        return self

    def columns_after(self, columns: Columns) -> Columns:
        return columns if self.where else None

    def time_after(self, event_time: str | None) -> str | None:
        return event_time


Step = Annotated[Deduplicate | Aggregate | GroupState | Transform, Described(discriminator="kind")]
