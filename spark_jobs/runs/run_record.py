"""Run record: writes a run's row in ops.runs."""

from __future__ import annotations

import logging

from spark_jobs.contract.errors import RootNotWritable, RootRefused, RootUnreachable
from spark_jobs.contract.report import Problem, Report
from spark_jobs.contract.store import opened
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import Row
from spark_jobs.runs.spark_errors import translate_error

LOG = logging.getLogger(__name__)
COLUMNS = {
    "pipeline",
    "run_id",
    "kind",
    "status",
    "started_at",
    "ended_at",
    "query_seconds",
    "watermark",
    "table_version",
}
"""Fields of the report that are columns of the same name."""
COUNTS = ("read", "rows_out", "duplicates", "late", "malformed", "premature", "unaccounted")
"""Fields of the report's account that are columns of the same name."""

OF_THE_ROOT = {error.code for error in (RootNotWritable, RootRefused, RootUnreachable)}
"""Problems with which no table under the root can be written: a store is not asked twice."""


def append_row(report: Report, root: str) -> Report:
    """The report, after its row is in ops.runs: every run has one, also a run that was refused.

    If the row could not be written, the run fails with the error of the append. A problem that the
    run had before stays. Where the root itself is the problem, no row is tried.
    """
    if report.problem is not None and report.problem.code in OF_THE_ROOT:
        return report
    try:
        ops_tables.append(opened(root), "runs", [_row(report)])
    except Exception as error:  # noqa: BLE001 - whatever Delta or the disk threw, the report must say so
        cause = translate_error(error, report.pipeline)
        if report.problem is None:
            return report.model_copy(update={"status": "failed", "problem": Problem.of(cause)})
        LOG.warning("%s: the row in ops.runs was not written: %s", report.pipeline, cause)
    return report


def _row(report: Report) -> Row:
    return {
        **report.model_dump(include=COLUMNS),
        **{name: getattr(report.account, name) for name in COUNTS},
        "problem": report.problem.code if report.problem else None,
        "batches": len(report.batches),
        "state_rows": report.state.rows,
        "report": report.model_dump_json(),
    }
