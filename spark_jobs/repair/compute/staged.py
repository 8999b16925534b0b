"""Staged: what a repair has beside the table: the rows that differ, the rows that come, and the
records that it finds bad and that ops.quarantine lacks.

No drain has quarantined them: the spec was tightened since, or no drain has read them, and a
rebuild has them from the topic's archive. The swap puts them there (exchange.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.errors import StagingStale
from spark_jobs.ops.schema import SCHEMAS, Row
from spark_jobs.rejected.rejected_record import RejectedRecord
from spark_jobs.repair.compute.change import rows_after
from spark_jobs.repair.exchange.exchange import BAD
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.storage.folders import remove_folder
from spark_jobs.table.parquet_files import write_table
from spark_jobs.values.spans import Position, Span, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from upath import UPath

    from spark_jobs.repair.compute.judging import Judging
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.spec.inputs import Topics


MOST_UNITS = 2_000
"""Differing hours up to which the swap replaces hours; days, if there are more."""


def write_changes(paired: DataFrame, folder: UPath) -> None:
    """The table changes/: op, before, after and explained of each row that differs."""
    rows = paired.where("op IS NOT NULL").select("op", "before", "after", "explained")
    _write(rows, folder / "changes")


def write_rows(
    paired: DataFrame,
    position: Position,
    differing: Sequence[Span],
    folder: UPath,
    carried: DataFrame | None = None,
) -> None:
    """The table rows/: what the differing spans hold afterwards. `carried` are rows that stay
    as they are, and are not among the paired.
    """
    within = position.sql(differing) if differing else "false"
    rows = rows_after(paired, within)
    rows = rows.unionByName(carried.where(within)) if carried is not None else rows
    _write(rows, folder / "rows")


def _write(rows: DataFrame, path: UPath) -> None:
    remove_folder(path)
    write_table(rows, path)


def hour(position: Position) -> Column:
    """The beginning of the hour in which a paired row is."""
    at = F.coalesce("after", "before")[position.column]
    if position.edge == "end":
        at = at - F.expr("INTERVAL 0.000001 SECOND")
    return F.date_trunc("hour", at)


def differing(hours: Collection[datetime], spans: Sequence[Span]) -> tuple[Span, ...]:
    """The parts of the spans in which rows differ, in whole hours or days; all of them, if there
    are more days than can be told.

    >>> from datetime import UTC
    >>> day = Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    >>> print(*differing([datetime(2026, 1, 1, 5, tzinfo=UTC)], [day]))
    2026-01-01 05:00 to 06:00
    """
    days = {at.replace(hour=0) for at in hours}
    for begun, length in ((hours, timedelta(hours=1)), (days, timedelta(days=1))):
        if len(begun) <= MOST_UNITS:
            units = [Span(start, start + length) for start in begun]
            return joined(
                unit.within(span) for unit in units for span in spans if unit.overlaps(span)
            )
    return tuple(spans)


def write_bad(judging: Judging, counted: int, run_id: str, folder: UPath) -> int:
    """The table bad/: rows of ops.quarantine. Executors write them; none passes the driver.
    How many of them are excised.

    Raises StagingStale if they are not as many as were `counted` when the rows were computed:
    retention has removed records.
    """
    plan, seen = judging.plan, Observation()
    whys = [each.reason for each in judging.failing.known]
    as_row = _Rows(judging.spec.inputs, plan, run_id, judging.clock_ms)
    rows = judging.bad().mapInArrow(as_row, from_arrow_schema(SCHEMAS["quarantine"]))
    rows = rows.observe(
        seen,
        F.count(F.lit(1)).alias("records"),
        F.count_if(F.col("reason").isin(*whys)).alias("excised"),
    )
    _write(rows, folder / BAD)
    if (found := seen.get["records"]) != counted:
        raise StagingStale.bad_records_gone(pipeline=plan.pipeline, counted=counted, found=found)
    return int(seen.get["excised"])


class _Rows:
    """Rejected records as rows of ops.quarantine. Goes to the executors, so it has plain values."""

    def __init__(self, inputs: Topics, plan: RepairPlan, run_id: str, clock_ms: int) -> None:
        self._inputs = inputs
        self._batch = Batch(plan.batch, Positions(), Positions(), 0, 0, clock_ms)
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
