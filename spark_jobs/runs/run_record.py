"""Run record: a run's row in ops.runs."""

from __future__ import annotations

from typing import Any

from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Problem, Report
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.store import is_remote
from spark_jobs.ops import ops_tables
from spark_jobs.runs.spark_errors import understood

COLUMNS = {"pipeline", "run_id", "kind", "status", "started_at", "ended_at", "query_seconds", "watermark", "table_version"}
"""Of the report, by the same names."""
COUNTS = ("read", "rows_out", "duplicates", "late", "malformed", "premature", "unaccounted")
"""Of its account."""


def recorded(report: Report, spec: Pipeline, root: str) -> Report:
    """The report, once its row is in ops.runs; a run that accounted for nothing has none.

    On an object store, a row that could not be written is the run's problem, unless it has one already.
    """
    if not report.generation:
        return report
    try:
        ops_tables.append(Paths(root, spec).root, "runs", [_row(report)])
    except Exception as error:
        if not is_remote(root):
            raise
        if report.problem is None:
            problem = Problem.of(understood(error, spec.name))
            return report.model_copy(update={"status": "failed", "problem": problem})
    return report


def _row(report: Report) -> dict[str, Any]:
    return {
        **report.model_dump(include=COLUMNS),
        **{name: getattr(report.account, name) for name in COUNTS},
        "problem": report.problem.code if report.problem else None, "batches": len(report.batches),
        "state_rows": report.state.rows, "report": report.model_dump_json(),
    }
