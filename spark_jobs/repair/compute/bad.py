"""Bad: the records that a repair finds malformed or premature, and that nobody has put into
ops.quarantine: in `bad/` of its staging folder, until the swap does (bad_rows.py).

No drain has quarantined them: the spec was tightened since, or no drain has read them, and a
rebuild has them from the topic's archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.audit.rejected_record import RejectedRecord
from spark_jobs.errors import StagingStale
from spark_jobs.ops.schema import SCHEMAS, Row
from spark_jobs.repair.exchange.bad_rows import BAD
from spark_jobs.root.path_forms import spark_url
from spark_jobs.source.micro_batch import Batch

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.spec.inputs import Topics


class Bad(NamedTuple):
    """What a computation has found."""

    records: DataFrame
    """With a column for each field of RejectedRecord."""
    counted: int
    """Of them, as they were counted when the rows were computed."""
    clock_ms: int
    """By which they were judged, in milliseconds since the epoch."""


def write_bad(bad: Bad, inputs: Topics, plan: RepairPlan, run_id: str, folder: UPath) -> None:
    """The Delta table bad/: rows of ops.quarantine. Executors write them; none passes the driver.

    Raises StagingStale if they are others by now: retention has removed records.
    """
    as_row = _Rows(inputs, plan, run_id, bad.clock_ms)
    seen = Observation()
    (
        bad.records.mapInArrow(as_row, from_arrow_schema(SCHEMAS["quarantine"]))
        .observe(seen, F.count(F.lit(1)).alias("records"))
        .write.format("delta")
        .mode("overwrite")
        .save(spark_url(folder / BAD))
    )
    if (found := seen.get["records"]) != bad.counted:
        raise StagingStale.bad_records_gone(
            pipeline=plan.pipeline,
            counted=bad.counted,
            found=found,
        )


class _Rows:
    """Rejected records as rows of ops.quarantine. Goes to the executors, so it has plain values."""

    def __init__(self, inputs: Topics, plan: RepairPlan, run_id: str, clock_ms: int) -> None:
        self._inputs = inputs
        self._batch = Batch(plan.batch, {}, {}, 0, 0, clock_ms)
        self._where: Row = {
            "pipeline": plan.pipeline,
            "generation": plan.generation,
            "batch_id": plan.batch,
            "run_id": run_id,
        }

    def __call__(self, given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in given:
            records = map(RejectedRecord.of_row, part.to_pylist())
            rows = [self._where | each.quarantined(self._inputs, self._batch) for each in records]
            yield pa.RecordBatch.from_pylist(rows, SCHEMAS["quarantine"])
