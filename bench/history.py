"""A long history: ops tables as many runs and `sluice maintain` leave them, written without Spark
and Kafka.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from upath import UPath

from spark_jobs.messages.offset_account import OF_BATCHES, Account
from spark_jobs.messages.report import CheckResult, Report
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import OPERATOR
from spark_jobs.runs.run_record import append_row, row_of

PIPELINE = "departure_delays"
CHECKS = 12
A_WEEK = 7 * 24
"""Runs of an hourly pipeline between two runs of the DAG of maintenance."""


class History:
    """The ops tables of a root with so many runs of one batch."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.root = UPath(folder)
        counted = ops_tables.query(self.root, "batches", "SELECT count(*) AS n FROM batches")
        self.batches = int(counted.to_pylist()[0]["n"])

    def grow(self, batches: int) -> None:
        """Write as many runs as are missing, each table's row in a commit of its own."""
        while self.batches < batches:
            ops_tables.append(self.root, "batches", [self._row()])
            self._judged()
            self.batches += 1

    def begin_with(self, batches: int) -> None:
        """Write so many judged batches at once, one an hour until now, as `sluice maintain` leaves
        their rows: joined.
        """
        rows, reports, now = [], [], datetime.now(UTC)
        for hours in range(batches, 0, -1):
            at = now - timedelta(hours=hours)
            rows.append(self._row(at))
            reports.append(self._report(at))
            self.batches += 1
        ops_tables.append(self.root, "batches", rows)
        ops_tables.append(self.root, "checks", [row for each in reports for row in _checks(each)])
        ops_tables.append(self.root, "runs", [row_of(each) for each in reports])

    def _row(self, at: datetime | None = None) -> dict[str, Any]:
        at = at or datetime.now(UTC)
        account = Account(covered=20_000, read=20_000, accepted=19_900, rows_out=6_500)
        operator = dict.fromkeys((column.name for column in OPERATOR), 1_000_000)
        return account.model_dump(include={*OF_BATCHES}) | {
            "pipeline": PIPELINE,
            "generation": "0123456789ab",
            "batch_id": self.batches,
            "run_id": self._run_id,
            "source": "progress",
            "offsets_start": '{"0": 1000000, "1": 1000000, "2": 1000000, "3": 1000000}',
            "offsets_end": '{"0": 1005000, "1": 1005000, "2": 1005000, "3": 1005000}',
            "last_event_time": at - timedelta(hours=1),
            "watermark": at - timedelta(hours=3),
            "state_rows": 1_000_000,
            "operators": [operator | {"kind": "aggregate", "operatorName": "stateStoreSave"}] * 2,
            "table_version": self.batches,
            "audited_at": at,
        }

    @property
    def _run_id(self) -> str:
        return f"scheduled__batch_{self.batches:09}-try1"

    def _judged(self) -> None:
        report = self._report(datetime.now(UTC))
        ops_tables.append(self.root, "checks", _checks(report))
        append_row(report, str(self.root))

    def _report(self, at: datetime) -> Report:
        checks = tuple(
            CheckResult(
                suite="state",
                type="expect_column_values_to_be_between",
                column=f"metric_{number}",
                severity="critical",
                outcome="passed",
                observed="0",
            )
            for number in range(CHECKS)
        )
        return Report(
            pipeline=PIPELINE,
            run_id=self._run_id,
            status="succeeded",
            started_at=at,
            ended_at=at,
            generation="0123456789ab",
            batches=(self.batches,),
            table_version=self.batches,
            checks=checks,
        )


def _checks(report: Report) -> list[dict[str, Any]]:
    """Rows of ops.checks."""
    own = {"pipeline": PIPELINE, "run_id": report.run_id, "checked_at": report.ended_at}
    return [own | check.model_dump() for check in report.checks]
