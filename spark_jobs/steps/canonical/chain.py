"""Applies the steps in order as a batch query: their canonical result, over all rows at once.

chain.py is the drain's. There is no watermark here, so no row is late and each group is final. A
GroupState is no batch query (repair/compute/replay.py): the steps before it and behind it are two.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, cast

from pyspark.sql import Observation, functions as F

from spark_jobs.spec.inputs import COLUMN
from spark_jobs.values.own_columns import KAFKA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from spark_jobs.spec import Pipeline, Topic
    from spark_jobs.spec.steps.step import Step

Counted = dict[int, Observation]
"""Index of a Deduplicate -> its reused_keys and ambiguous_copies. `get` waits until an action has
computed its rows.
"""


class Given(NamedTuple):
    """What a step is given besides its rows and its declaration."""

    spec: Pipeline
    at: int
    """The step's index in the spec."""
    event_time: str
    """The rows' column with it; empty if they have none."""
    sides: Mapping[str, DataFrame]
    """As At has them (steps/operator.py)."""
    counted: Counted | None
    moved: bool


def of_step(rows: DataFrame, step: Step, given: Given) -> DataFrame:
    """One step's canonical rows; with the column kafka if it keeps the rows that enter it."""
    assert step.canonical, f"a {step.kind} is no batch query"
    taken = _by_input(rows, given.spec.inputs) if step.takes else rows
    return cast("DataFrame", resolve_name(step.canonical)(taken, step, given))


def _by_input(rows: DataFrame, inputs: tuple[Topic, ...]) -> dict[str, DataFrame]:
    """The rows of each input, by its name, with its own columns, and kafka if it is there."""
    kafka = [name for name in rows.columns if name == KAFKA]
    return {
        of.name: rows.where(F.col(COLUMN) == of.name).select(*of.columns, *kafka) for of in inputs
    }


def canonical_output(
    rows: DataFrame,
    spec: Pipeline,
    sides: Mapping[str, DataFrame],
    first: int | None = None,
    until: int | None = None,
    counted: Counted | None = None,
    *,
    moved: bool = False,
) -> DataFrame:
    """The rows that leave the steps from `first` to before `until`, none of them a GroupState:
    default, from the first stateful step to the last.

    `rows` enter the step `first`: the stateful input, with the column kafka, or what the step
    before it gave. No output row has kafka. `counted` is given an Observation for each Deduplicate
    that counts; another call needs another. With `moved`, the groups have the columns of
    steps/canonical/aggregate.py too.
    """
    first = spec.first_stateful if first is None else first
    until = len(spec.steps) if until is None else until
    time = event_time(spec, first)
    for index, step in enumerate(spec.steps[first:until], first):
        rows = of_step(rows, step, Given(spec, index, time, sides, counted, moved)).drop(KAFKA)
        time = step.time_after(time) or ""
    # Spark looks for observations in the plan as it was given, and there a Transform's SQL has the
    # name of a view: without another node on top, `Observation.get` would wait for ever.
    return rows.drop(KAFKA).select("*")


def event_time(spec: Pipeline, index: int) -> str:
    """The event time column of the rows that enter the step; empty if they have none."""
    time = spec.inputs.event_time
    for step in spec.steps[spec.first_stateful : index]:
        time = step.time_after(time) or ""
    return time


def next_group_state(spec: Pipeline, first: int) -> int:
    """The index of the first GroupState from the step `first` on; len(steps) if there is none."""
    found = (index for index, step in enumerate(spec.steps) if index >= first and step.by_code)
    return next(found, len(spec.steps))
