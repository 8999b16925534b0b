"""The steps of a pipeline, as declarations. What each becomes in Spark is in spark_jobs/stateful, one file a step.

A step knows three things about itself without Spark: whether it keeps state, whether that state is bounded, and which
columns leave it, given those that enter (None where only Spark can know).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract.duration import Duration
from spark_jobs.contract.model import Model, refuse
from spark_jobs.contract.topic import Field

Columns = tuple[str, ...] | None


def _known(step: str, field: str, wanted: tuple[str, ...], columns: Columns) -> None:
    for name in wanted:
        if columns is not None and name not in columns:
            refuse(f"{step}.{field}", name, "no such column enters this step", f"Use one of {', '.join(columns)}")


def _different(field: str, names: Iterable[str]) -> None:
    given = list(names)
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        refuse(field, twice, "it is there more than once", "Name each once")


class Deduplicate(Model):
    """Drop records that were delivered before.

    Within the watermark (Spark's dropDuplicatesWithinWatermark) a key is kept until the watermark passes its event time
    plus the delay; for ever (Spark's dropDuplicates) it is kept always, and the spec must say how much state that may be.
    """

    kind: Literal["deduplicate"] = "deduplicate"
    keys: tuple[str, ...] = Described(description="two records with equal keys are one event", min_length=1)
    scope: Literal["watermark", "for_ever"] = Described(default="watermark", description="how long a key is remembered")
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _different("keys", self.keys)
        return self

    @property
    def bounded(self) -> bool:
        return self.scope == "watermark"

    def columns_after(self, columns: Columns) -> Columns:
        _known("Deduplicate", "keys", self.keys, columns)
        return columns


class Tumbling(Model):
    """Windows of one size, side by side, aligned to the epoch in UTC."""

    size: Duration = Described(strict=False, description="how long a window is")

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.size <= timedelta():
            refuse("size", self.size, "a window needs a length", "Use for example '1 hour'")
        return self


class Aggregate(Model):
    """Group by keys and a window of the event time; measures are Spark SQL aggregates."""

    kind: Literal["aggregate"] = "aggregate"
    window: Tumbling = Described(description="the window of the event time")
    keys: tuple[str, ...] = Described(default=(), description="grouping columns beside the window")
    measures: dict[str, str] = Described(description="output column -> Spark SQL aggregate", min_length=1)
    counts: str | None = Described(
        default=None, description="the measure that is count(*): the account then also balances accepted rows against groups"
    )
    stateful: Literal[True] = True
    bounded: Literal[True] = True

    @model_validator(mode="after")
    def _named(self) -> Self:
        _different("keys", self.keys)
        made = sorted({"window", "window_start", "window_end"} & set(self.keys))
        if made:
            refuse("keys", made, "the aggregation makes columns of that name itself", "Leave it out, or rename the field")
        for name in self.measures:
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
                refuse("measures", name, "a measure becomes a column", "Use lower-case letters, digits and underscores")
        clash = sorted(set(self.measures) & {*self.keys, "window_start", "window_end"})
        if clash:
            refuse("measures", clash, "the output already has a column of that name", "Rename the measure")
        if self.counts is not None and self.measures.get(self.counts, "").replace(" ", "").lower() != "count(*)":
            refuse("counts", self.counts, "it is not a measure that is count(*)",
                   "Name the measure whose expression is count(*)")
        return self

    def columns_after(self, columns: Columns) -> Columns:
        _known("Aggregate", "keys", self.keys, columns)
        return ("window_start", "window_end", *self.keys, *self.measures)


class GroupState(Model):
    """State of your own by key: a StatefulProcessor in the pipeline's logic.py, run by transformWithState."""

    kind: Literal["group_state"] = "group_state"
    processor: Annotated[str, Described(description="the class in logic.py", pattern=r"^[A-Z][A-Za-z0-9]*$")]
    keys: tuple[str, ...] = Described(description="one state for each combination of these columns", min_length=1)
    output: tuple[Field, ...] = Described(description="the columns that the processor yields", min_length=1)
    time_mode: Literal["event"] = Described(default="event", description="what the processor's timers go by")
    stateful: Literal[True] = True
    bounded: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _different("keys", self.keys)
        _different("output", (field.name for field in self.output))
        return self

    def columns_after(self, columns: Columns) -> Columns:
        _known("GroupState", "keys", self.keys, columns)
        return tuple(field.name for field in self.output)


class Transform(Model):
    """Anything without state: keep the rows for which a Spark SQL condition holds."""

    kind: Literal["transform"] = "transform"
    where: str = Described(description="a Spark SQL condition over the columns that enter", min_length=1)
    stateful: Literal[False] = False
    bounded: Literal[True] = True

    def columns_after(self, columns: Columns) -> Columns:
        return columns


Step = Annotated[Deduplicate | Aggregate | GroupState | Transform, Described(discriminator="kind")]
