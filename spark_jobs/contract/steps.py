"""The steps of a pipeline, as declarations. What each becomes in Spark is in spark_jobs/stateful, one file a step.

A step knows three things about itself without Spark: whether it keeps state, whether that state is bounded, and which
columns leave it, given those that enter (None where only Spark can know).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract.model import Model, refuse
from spark_jobs.contract.topic import Field
from spark_jobs.contract.windows import Window

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

    watermark (Spark's dropDuplicatesWithinWatermark): a key is kept until the watermark passes its event time plus the delay.
    event_time (Spark's dropDuplicates with the event time among the keys): until the watermark passes its event time.
    for_ever (Spark's dropDuplicates): always, and the spec must say how much state that may be.
    """

    kind: Literal["deduplicate"] = "deduplicate"
    keys: tuple[str, ...] = Described(
        description="two records with equal keys are one event; ('*',) for all columns", min_length=1
    )
    scope: Literal["watermark", "event_time", "for_ever"] = Described(
        default="watermark", description="how long a key is remembered"
    )
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _different("keys", self.keys)
        return self

    @property
    def bounded(self) -> bool:
        return self.scope != "for_ever"

    @property
    def whole_row(self) -> bool:
        """Whether all columns together are the key."""
        return self.keys == ("*",)

    def columns_after(self, columns: Columns) -> Columns:
        if not self.whole_row:
            _known("Deduplicate", "keys", self.keys, columns)
        return columns


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
    stateful: Literal[True] = True

    @property
    def bounded(self) -> bool:
        return self.window is not None

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
        return (*self.group, *self.measures)

    @property
    def group(self) -> tuple[str, ...]:
        """The output's columns that name a group."""
        return (*(("window_start", "window_end") if self.window else ()), *self.keys)


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
