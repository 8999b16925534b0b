"""The JVM's decoder as a column of Spark."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame

from spark_jobs.decode.jvm.description import US, described
from spark_jobs.decode.jvm.task_notes import TaskNotes
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from spark_jobs.decode.prepared import Prepared
    from spark_jobs.decode.raw_filter import CapturePolicy
    from spark_jobs.decode.slice_notes import SliceNotes

FORM: Final = 2
"""What sluice.decode.Decoder must say of itself. Raise both numbers where the description changes,
or what a record becomes.
"""
UNSURE: Final = re.compile(r"SLUICE_UNSURE: the record at partition (\d+) offset (\d+)")
"""Its error for a record of which only Python knows whether it is malformed."""
PENDING: Final = "?"
"""The reason that it gives: Python says it for the few records that are kept (reasons.py)."""
DECODED: Final = own("decoded")


def is_there(spark: SparkSession) -> bool:
    """Whether its jar is on the class path, and not that of another Sluice."""
    ours = _jvm(spark).sluice.decode.Decoder
    # What is no class is taken for the name of a package.
    return isinstance(ours, JavaClass) and ours.FORM == FORM


def decoded(
    records: DataFrame,
    prepared: Prepared,
    capture: CapturePolicy | None,
    notes: SliceNotes | None,
    schema: StructType,
) -> DataFrame:
    """As decode/decoder.py has it, with PENDING in place of each reason."""
    java = _jvm(records.sparkSession)
    noted = None
    if notes:
        noted = java.sluice.decode.Notes(
            records.sparkSession.sparkContext._jsc.sc(),  # noqa: SLF001 - as below
            notes.policy.offsets,
            prepared.topic.max_ahead // US,
            notes.policy.clock_ms * 1000,
            -(2**63) if notes.policy.late_ms is None else notes.policy.late_ms * 1000,
            notes.keys is not None,
        )
        notes.in_jvm.append(TaskNotes(noted, prepared.topic))
    of = json.dumps(described(prepared, capture))
    column = Column(java.sluice.decode.Decoder.column(KAFKA, of, schema.json(), noted))
    return records.select(column.alias(DECODED)).select(f"{DECODED}.*")


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001 - no Python form
