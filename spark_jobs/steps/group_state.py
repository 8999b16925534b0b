"""GroupState in Spark: the pipeline's own code, by key, in one of the three forms that Python has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import StructField, StructType

from spark_jobs.contract.errors import InitialStateMissing
from spark_jobs.contract.output_mode import OutputMode
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import GroupState
from spark_jobs.contract.store import spark_url
from spark_jobs.contract.topic import Field
from spark_jobs.steps.logic import load
from spark_jobs.steps.operator import NO_PREDICATE, Place
from spark_jobs.steps.timers import Counting, counting
from spark_jobs.storage.delta import is_table
from spark_jobs.type_conversions import spark_type

if TYPE_CHECKING:
    from upath import UPath

TIME_MODES = {"none": "None", "event": "EventTime", "processing": "ProcessingTime"}
TIMEOUTS = {"none": "NoTimeout", "event": "EventTimeTimeout", "processing": "ProcessingTimeTimeout"}


class GroupStateOperator(NamedTuple):
    """Source: TransformWithStateInPySparkExec and FlatMapGroupsInPandasWithStateExec."""

    step: GroupState

    def apply(self, rows: DataFrame, place: Place) -> DataFrame:
        """The rows that the processor yields: the step's declared output columns. Raises SpecInvalid, InitialStateMissing."""
        step, mode, fired = self.step, place.spec.output_mode.capitalize(), place.timers.of(place.step_index)
        code, output, grouped = load(place.spec.name, step.processor), schema(step.output), rows.groupBy(*step.keys)
        if step.form == "apply":
            return grouped.applyInPandasWithState(
                counting(code, fired), output, schema(step.state), mode, TIMEOUTS[step.time_mode]
            )
        transform = grouped.transformWithState if step.form == "row" else grouped.transformWithStateInPandas
        given = initial(rows, step, place.root)
        return transform(
            Counting(code(), fired), output, mode, TIME_MODES[step.time_mode],
            initialState=given.groupBy(*step.keys) if given else None, eventTimeColumnName=step.event_time or "",
        )

    def counts(self) -> list[Column]:
        return []

    def is_late(self, event_time: str, late_before: Column, _: OutputMode) -> Column:
        """Spark holds rows against the watermark in event time only; in the other modes none is late."""
        return F.col(event_time) <= late_before if self.step.time_mode == "event" else F.lit(False)

    def state(self) -> str:
        keys = f"the key is {', '.join(self.step.keys)}"
        if self.step.form == "apply":
            return f"{keys}; the value is {', '.join(field.name for field in self.step.state)}, and a time-out"
        return f"{keys}; the values are what {self.step.processor} declares in its init"

    def predicates(self) -> str:
        by_time = self.step.time_mode == "event"
        return "late rows by the event time of the data, timers by the watermark" if by_time else NO_PREDICATE

    def eviction(self, _: Pipeline) -> str:
        if self.step.time_mode == "processing":
            return "evicted when the processor clears it, by a timer of the clock or by its TTL; each run ends with what is due"
        return "evicted when the processor clears it, at the latest by a timer of the watermark"


def schema(fields: tuple[Field, ...]) -> StructType:
    """Declared columns as Spark's."""
    return StructType([StructField(field.name, spark_type(field.type)) for field in fields])


def initial(rows: DataFrame, step: GroupState, root: UPath) -> DataFrame | None:
    """The Delta table of first states, for handleInitialState in the first batch. Raises InitialStateMissing."""
    if step.initial_state is None:
        return None
    path = step.initial_state if "/" in step.initial_state else str(root / "tables" / step.initial_state)
    if not is_table(path):
        raise InitialStateMissing(f"there is no Delta table at {path}, which GroupState.initial_state names.",
                                  "Write it first, or leave initial_state out.")
    table = rows.sparkSession.read.format("delta").load(spark_url(path))
    missing = [key for key in step.keys if key not in table.columns]
    if missing:
        raise InitialStateMissing(f"{path} lacks the key column {missing[0]}: it has {', '.join(table.columns)}.",
                                  "Write it with the GroupState's keys.")
    return table
