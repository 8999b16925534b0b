"""The asset event of a run that passed its critical checks: what a consumer needs to read the published rows."""

from __future__ import annotations

from typing import Any, Final

from spark_jobs.contract.report import Report

_REPORT_FIELDS: Final = (
    "pipeline",
    "run_id",
    "table_version",
    "table_version_before",
    "account",
    "watermark",
    "offsets_end",
)
FIELDS: Final[dict[str, str]] = {
    "table": "the Delta table: a path or a URL",
    **{name: Report.model_fields[name].description or "" for name in _REPORT_FIELDS},
}
"""The fields of the event's `extra`, with their meaning."""


def extra(report: Report, table: str) -> dict[str, Any]:
    """The event's `extra`, as JSON: FIELDS."""
    return {"table": table, **report.model_dump(mode="json", include=set(_REPORT_FIELDS))}
