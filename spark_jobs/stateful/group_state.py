"""GroupState in Spark: transformWithState with the pipeline's own StatefulProcessor, row by row."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from spark_jobs.columns import spark_type
from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.steps import GroupState

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor


def apply(rows: DataFrame, step: GroupState, pipeline: str) -> DataFrame:
    """The rows that the processor yields: the step's declared output columns."""
    return rows.groupBy(*step.keys).transformWithState(
        statefulProcessor=processor(step, pipeline),
        outputStructType=StructType([StructField(field.name, spark_type(field.type)) for field in step.output]),
        outputMode="Append",
        timeMode="EventTime",
    )


def processor(step: GroupState, pipeline: str) -> StatefulProcessor:
    """An instance of the class that the spec names. Raises SpecInvalid where logic.py does not have it."""
    module = f"spark_jobs.pipelines.{pipeline}.logic"
    try:
        found = getattr(importlib.import_module(module), step.processor)
    except (ModuleNotFoundError, AttributeError) as error:
        raise SpecInvalid(f"pipelines/{pipeline}/logic.py has no class {step.processor}: {error}.",
                          "Write it, or correct GroupState.processor in spec.py.") from None
    made: StatefulProcessor = found()
    return made
