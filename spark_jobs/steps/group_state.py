"""GroupState in Spark: the pipeline's own code, by key, in one of the three forms of Spark's Python
API, or in buckets over the first.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import StructField, StructType

from spark_jobs.errors import ProcessorFailed, SpecInvalid
from spark_jobs.registry.fingerprint.code import resume_remedy
from spark_jobs.registry.logic import BY_NAME, HANDLERS
from spark_jobs.side.initial_state import initial_state
from spark_jobs.spec import Field, GroupState, Pipeline
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.steps.bucket import Bucket
from spark_jobs.steps.bucket_processor import ANSWER_DDL, InBuckets, pack, unpack
from spark_jobs.steps.chain import KEYS_COUNTED, keys_observation
from spark_jobs.steps.logic import load
from spark_jobs.steps.operator import NO_PREDICATE, At, LateBy, StepContext
from spark_jobs.steps.timers import StateFunction, TimerCountingProcessor, count_timeouts
from spark_jobs.values.conversions import arrow_type, spark_type
from spark_jobs.values.own_columns import BUCKET


def hide_column(function: StateFunction, name: str) -> StateFunction:
    """The same function; the frames that it is called with lack the column."""

    @functools.wraps(function)
    def called(key: Any, frames: Iterable[Any], state: Any) -> Iterator[Any]:
        if isinstance(frames, list):  # Spark's form for a time-out: one frame without rows
            return function(key, [frame.drop(columns=name) for frame in frames], state)
        return function(key, (frame.drop(columns=name) for frame in frames), state)

    return called


def require_handlers(processor: Any, pipeline: str) -> None:
    """Raise ProcessorFailed unless Spark can call each handler that the processor has."""
    for name, parameters in HANDLERS.items():
        handler = getattr(processor, name, None)
        if handler is not None:
            _require(handler, name, parameters, pipeline)


def require_function(
    function: Callable[..., Any], pipeline: str, parameters: tuple[str, ...]
) -> None:
    """Raise ProcessorFailed unless the function can be called with these parameters."""
    _require(function, getattr(function, "__name__", "the function"), parameters, pipeline)


def _require(handler: Any, name: str, parameters: tuple[str, ...], pipeline: str) -> None:
    try:
        signature = inspect.signature(handler)
    except ValueError:
        return  # written in C: only calling it shows
    try:
        if name in BY_NAME:
            signature.bind(**dict.fromkeys(parameters))
        else:
            signature.bind(*parameters)
    except TypeError as error:
        how = "by name" if name in BY_NAME else "by position"
        raise ProcessorFailed.signature_unfit(
            handler=_place(handler),
            name=name,
            signature=signature,
            parameters=", ".join(parameters),
            how=how,
            error=error,
            resume=resume_remedy(pipeline),
        ) from None


def _place(handler: Any) -> str:
    """`logic.py line 27, `, if the handler is written in Python."""
    code = getattr(inspect.unwrap(handler), "__code__", None)
    if code is None:
        return ""
    return f"{'/'.join(Path(code.co_filename).parts[-2:])} line {code.co_firstlineno}, "


PACKED_DDL = f"{BUCKET} int, rows binary"
KEY_TYPES = {"string", "int", "bigint", "boolean", "timestamp", "date"}
"""Of a double, NaN and -0.0 would be other keys in Arrow than in Spark."""


def in_buckets(
    rows: DataFrame,
    step: GroupState,
    bucket: Bucket,
    output: StructType,
    mode: str,
    operator: int,
) -> DataFrame:
    """The rows that the code gives: the step's declared output columns.

    `mode` is Spark's output mode; `operator` counts the stateful steps before this one. Raises
    SpecInvalid for a key of a type that buckets cannot have.
    """
    rows = named(rows, step.keys)
    _refuse_keys(rows, step)
    assert step.buckets is not None  # spec/steps/group_state.py refuses it
    packing = functools.partial(pack, buckets=step.buckets)
    answered = (
        rows.withColumn(BUCKET, number(step))
        .mapInArrow(packing, PACKED_DDL)
        .groupBy(BUCKET)
        .transformWithState(InBuckets(bucket), ANSWER_DDL, mode, "None")
        .observe(keys_observation(operator), *(F.sum(name).alias(name) for name in KEYS_COUNTED))
    )
    unpacking = functools.partial(unpack, column="rows")
    return answered.where(F.col("rows").isNotNull()).mapInArrow(unpacking, output)


def named(rows: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The rows, their key columns in the letters that the step declares: Spark finds a column
    whether its letters are large or small, and Arrow does not.
    """
    declared = {key.lower(): key for key in keys}
    return rows.toDF(*(declared.get(name.lower(), name) for name in rows.columns))


def number(step: GroupState) -> Column:
    """The bucket of a row: the same for a key in every run, on every machine."""
    return F.pmod(F.hash(*step.keys), F.lit(step.buckets))


def _refuse_keys(rows: DataFrame, step: GroupState) -> None:
    for name in step.keys:
        kind = rows.schema[name].dataType.simpleString()
        if kind not in KEY_TYPES:
            raise SpecInvalid.key_unpackable(
                name=name,
                kind=kind,
                known=", ".join(sorted(KEY_TYPES)),
            )


TIME_MODES = {"none": "None", "event": "EventTime", "processing": "ProcessingTime"}
TIMEOUTS = {"none": "NoTimeout", "event": "EventTimeTimeout", "processing": "ProcessingTimeTimeout"}


class GroupStateOperator(NamedTuple):
    """Source: TransformWithStateInPySparkExec and FlatMapGroupsInPandasWithStateExec."""

    step: GroupState

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """The rows that the processor yields: the step's declared output columns.

        Raises SpecInvalid, InitialStateMissing.
        """
        step = self.step
        mode = context.spec.output_mode.capitalize()
        fired = context.timers.accumulator(context.step_index)
        code = load(context.spec.name, step.processor)
        output = schema(step.output)
        if step.called_with:
            require_function(code, context.spec.name, step.called_with)
        if step.form == "buckets":
            bucket = Bucket(code, step.keys, columns(step.state), columns(step.output))
            before = sum(each.stateful for each in context.spec.steps[: context.step_index])
            return in_buckets(rows, step, bucket, output, mode, before)
        grouped = rows.groupBy(*step.keys)
        if step.form == "apply":
            code = hide_column(code, context.hidden) if context.hidden else code
            return grouped.applyInPandasWithState(
                count_timeouts(code, fired),
                output,
                schema(step.state),
                mode,
                TIMEOUTS[step.time_mode],
            )
        transform = (
            grouped.transformWithState if step.form == "row" else grouped.transformWithStateInPandas
        )
        processor = code()
        require_handlers(processor, context.spec.name)
        first_states = initial_state(rows.sparkSession, step, context.root)
        return transform(
            TimerCountingProcessor(processor, fired, context.timers.init_errors),
            output,
            mode,
            TIME_MODES[step.time_mode],
            initialState=first_states.groupBy(*step.keys) if first_states else None,
            eventTimeColumnName=step.event_time or "",
        )

    def counts(self) -> list[Column]:
        return []

    def late_by(self, _: OutputMode) -> LateBy | None:
        """Spark compares rows with the watermark only in time mode "event"."""
        return "row" if self.step.time_mode == "event" else None

    def is_late(self, event_time: str, late_before: Column) -> Column:
        return F.col(event_time) <= late_before

    def row_part(self, rows: DataFrame, _: At) -> DataFrame:
        """The rows: all that follows is Python code."""
        return rows

    def state(self) -> str:
        keys = f"the key is {', '.join(self.step.keys)}"
        columns = ", ".join(field.name for field in self.step.state)
        if self.step.form == "apply":
            return f"{keys}; the value is {columns}, and a timeout"
        if self.step.form == "buckets":
            return (
                f"{keys}; the value is {columns}; Spark stores the keys in {self.step.buckets:,} "
                "buckets, as columns"
            )
        return f"{keys}; the values are the variables that {self.step.processor} declares in init"

    def predicates(self) -> str:
        by_time = self.step.time_mode == "event"
        return (
            "late rows by the event time of the data, timers by the watermark"
            if by_time
            else NO_PREDICATE
        )

    def eviction(self, _: Pipeline) -> str:
        if self.step.time_mode == "processing":
            return (
                "evicted when the processor clears it, at a processing-time timer or by its TTL; "
                "each run processes all that are due"
            )
        return "evicted when the processor clears it, at the latest at an event-time timer"


def schema(fields: tuple[Field, ...]) -> StructType:
    """The declared columns as a Spark schema."""
    return StructType([StructField(field.name, spark_type(field.type)) for field in fields])


def columns(fields: tuple[Field, ...]) -> pa.Schema:
    """The declared columns as an Arrow schema."""
    return pa.schema([(field.name, arrow_type(field.type)) for field in fields])
