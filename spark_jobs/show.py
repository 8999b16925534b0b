"""The ops tables as a person reads them: the columns that matter, newest first."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from rich.table import Table as RichTable
from rich.text import Text

from spark_jobs.contract.settings import VARIABLES
from spark_jobs.contract.store import opened

SHOWN_BYTES = 60
DEFAULT_ROOT = str(VARIABLES["SLUICE_ROOT"][1])


class Table(StrEnum):
    """What can be shown."""

    runs = "runs"
    batches = "batches"
    operators = "operators"
    late = "late"
    quarantine = "quarantine"
    checks = "checks"


COLUMNS: dict[str, tuple[str, str]] = {
    "runs": (
        "pipeline, run_id, status, problem, read, rows_out, duplicates, late, malformed, premature, unaccounted, "
        "state_rows, watermark, round(query_seconds, 1) AS seconds",
        "started_at DESC",
    ),
    "batches": (
        "pipeline, batch_id AS batch, source, read, gaps, malformed, premature, filtered, late, duplicates, rows_out, "
        "unaccounted, state_rows, watermark, offsets_end",
        "audited_at DESC",
    ),
    "operators": (
        "pipeline, batch_id AS batch, operator['step'] + 1 AS step, operator['kind'] AS kind, "
        + ", ".join(f"operator['{metric}'] AS {name}" for name, metric in {
            "rows_in": "rows_in", "rows_out": "rows_out", "total": "numRowsTotal", "updated": "numRowsUpdated",
            "removed": "numRowsRemoved", "late": "numRowsDroppedByWatermark", "duplicates": "numDroppedDuplicateRows",
            "timers": "timers_fired", "memory": "memoryUsedBytes", "files": "rocksdbSstFileSize", "commit_ms": "commitTimeMs",
        }.items()),
        "audited_at DESC, step",
    ),
    "late": (
        "pipeline, batch_id AS batch, partition, \"offset\", event_time, watermark_missed, kafka_timestamp, step, "
        "CAST(value AS VARCHAR) AS value",
        "batch_id DESC, partition, \"offset\"",
    ),
    "quarantine": (
        "pipeline, kind, reason, partition, \"offset\", kafka_timestamp, value",
        "kafka_timestamp DESC, partition, \"offset\"",
    ),
    "checks": (
        "pipeline, run_id, suite, type, \"column\", severity, outcome, unexpected, observed, sample",
        "checked_at DESC, suite",
    ),
}
"""Table -> what is selected, and in which order."""
WITHIN = {"operators": ("batches", "(SELECT pipeline, batch_id, audited_at, unnest(operators) AS operator FROM batches)")}
"""What is not a table of its own -> the table that it is in, and how it is taken out of it."""


def view(root: str, table: Table, pipeline: str | None, limit: int) -> RichTable:
    """The newest `limit` rows of an ops table, for the terminal."""
    from spark_jobs import ops  # noqa: PLC0415 - the help does not need it

    columns, order = COLUMNS[table]
    where = f"WHERE pipeline = '{pipeline}'" if pipeline else ""
    stored, source = WITHIN.get(table, (table, table))
    rows = ops.query(opened(root), stored, f"SELECT {columns} FROM {source} {where} ORDER BY {order} LIMIT {limit}")
    shown = RichTable(title=f"{table}, newest first" + (f", of {pipeline}" if pipeline else ""), title_justify="left")
    for name in rows.column_names:
        shown.add_column(name, overflow="fold" if name in {"reason", "observed", "type", "problem"} else "ellipsis")
    for row in rows.to_pylist():
        shown.add_row(*(Text(_cell(value)) for value in row.values()))
    return shown


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, bytes):
        text = value[:SHOWN_BYTES].decode("utf-8", "backslashreplace")
        return text + (" …" if len(value) > SHOWN_BYTES else "")
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
