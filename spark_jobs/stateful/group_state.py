"""GroupState in Spark: the pipeline's own code, by key, in one of the three forms that Python has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import StructField, StructType

from spark_jobs.contract.errors import InitialStateMissing
from spark_jobs.contract.steps import GroupState
from spark_jobs.contract.store import spark_url
from spark_jobs.contract.topic import Field
from spark_jobs.delta import is_table
from spark_jobs.stateful.logic import found
from spark_jobs.stateful.timers import Counting, counting
from spark_jobs.type_conversions import spark_type

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from upath import UPath

TIME_MODES = {"none": "None", "event": "EventTime", "processing": "ProcessingTime"}
TIMEOUTS = {"none": "NoTimeout", "event": "EventTimeTimeout", "processing": "ProcessingTimeTimeout"}


def apply(
    rows: DataFrame, step: GroupState, pipeline: str, output_mode: str, root: UPath, fired: Accumulator[int]
) -> DataFrame:
    """The rows that the processor yields: the step's declared output columns.

    Source: TransformWithStateInPySparkExec and FlatMapGroupsInPandasWithStateExec. Raises SpecInvalid, InitialStateMissing.
    """
    code, mode, output = found(pipeline, step.processor), output_mode.capitalize(), schema(step.output)
    grouped = rows.groupBy(*step.keys)
    if step.form == "apply":
        return grouped.applyInPandasWithState(
            counting(code, fired), output, schema(step.state), mode, TIMEOUTS[step.time_mode]
        )
    transform = grouped.transformWithState if step.form == "row" else grouped.transformWithStateInPandas
    given = initial(rows, step, root)
    return transform(
        Counting(code(), fired), output, mode, TIME_MODES[step.time_mode],
        initialState=given.groupBy(*step.keys) if given else None, eventTimeColumnName=step.event_time or "",
    )


def is_late(step: GroupState, event_time: str, late_before: Column) -> Column:
    """Spark holds rows against the watermark in event time only; in the other modes none is late."""
    return F.col(event_time) <= late_before if step.time_mode == "event" else F.lit(False)


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
