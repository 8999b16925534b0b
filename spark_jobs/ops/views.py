"""Views: the columns of the ops tables that `sluice show` prints, most important first, and its
rows, newest first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

from spark_jobs.ops.operator_metrics import COUNTS
from spark_jobs.ops.terms import NEWEST, moment
from spark_jobs.source.place import PLACE
from spark_jobs.storage.root.store import opened


class Table(StrEnum):
    """The views by name."""

    runs = "runs"
    batches = "batches"
    operators = "operators"
    late = "late"
    quarantine = "quarantine"
    checks = "checks"
    repairs = "repairs"
    growth = "growth"
    topics = "topics"
    rules = "rules"


class View(NamedTuple):
    """The columns, the order and the source of one view."""

    columns: dict[str, str]
    """Name -> SQL expression, most important first. All are shown unless the user chooses columns.
    """
    order: str
    stored: str
    """The ops table that has the rows."""
    source: str = ""
    """SQL for FROM, if it is not the table itself."""
    more: dict[str, str] | None = None
    """Name -> SQL expression of columns that are shown only if the user asks for them.

    None: all others of the ops table.
    """


class Rows(NamedTuple):
    """Rows of one view, with a value for each name.

    Times are datetimes with a time zone, raw records are bytes.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


WHEN = "when"
"""The column that a table shows as the time since then, such as "3 hours ago". Its value is a time.
"""


LISTS = {"operators", "ranges", "rules"}
"""Columns of ops tables that no view shows as they are."""


def _same(*names: str) -> dict[str, str]:
    """Quotes allow names that are SQL keywords, such as offset."""
    return {name: f'"{name}"' for name in names}


OF_A_TOPIC = (
    "read",
    "malformed",
    "premature",
    "filtered",
    "late",
    "accepted",
    "unaccounted",
    "gaps",
)
_ACCOUNT = "topics"
"""The column with the account of each topic, as JSON."""
_WHOLE = "whole_account"
VIEWS = {
    Table.runs: View(
        _same("pipeline")
        | {WHEN: '"started_at"'}
        | _same(
            "status",
            "problem",
            "read",
            "rows_out",
            "late",
            "unaccounted",
            "duplicates",
            "malformed",
            "premature",
            "state_rows",
            "watermark",
        )
        | {"seconds": '"query_seconds"'}
        | _same("kind", "run_id", "started_at"),
        "started_at DESC",
        "runs",
    ),
    Table.batches: View(
        _same("pipeline")
        | {"batch": '"batch_id"', WHEN: '"audited_at"'}
        | _same(
            "read",
            "rows_out",
            "late",
            "unaccounted",
            "duplicates",
            "malformed",
            "premature",
            "filtered",
            "gaps",
            "aborted",
            "markers",
            "removed",
            "unknown",
            "state_rows",
            "watermark",
            "source",
            "audited_at",
            "offsets_end",
            "schemas",
        ),
        "audited_at DESC",
        "batches",
    ),
    Table.operators: View(
        _same("pipeline")
        | {"batch": '"batch_id"', "step": "operator['step'] + 1", "kind": "operator['kind']"}
        | {
            name: f"operator['{metric}']"
            for name, metric in {
                "rows_in": "rows_in",
                "rows_out": "rows_out",
                "total": "numRowsTotal",
                "updated": "numRowsUpdated",
                "removed": "numRowsRemoved",
                "late": "numRowsDroppedByWatermark",
                "duplicates": "numDroppedDuplicateRows",
                "timers": "timers_fired",
                "memory": "memoryUsedBytes",
                "files": "rocksdbSstFileSize",
                "commit_ms": "commitTimeMs",
            }.items()
        },
        "audited_at DESC, operator['step']",
        "batches",
        "(SELECT pipeline, batch_id, audited_at, unnest(operators) AS operator FROM batches)",
        {WHEN: '"audited_at"'}
        | _same("audited_at")
        | {name: f"operator['{name}']" for name in COUNTS},
    ),
    Table.late: View(
        _same("pipeline", "event_time", "watermark_missed", "value", *PLACE)
        | {"batch": '"batch_id"'}
        | _same("step", "kafka_timestamp"),
        'batch_id DESC, partition, "offset", element',
        "late",
    ),
    Table.quarantine: View(
        _same("pipeline", "kind", "reason", "value", *PLACE, "kafka_timestamp"),
        'kafka_timestamp DESC NULLS LAST, partition, "offset", element',
        "quarantine",
    ),
    Table.checks: View(
        _same("pipeline", "outcome", "type", "column", "unexpected", "sample", "severity")
        | {WHEN: '"checked_at"'}
        | _same("observed", "suite", "run_id", "checked_at"),
        "checked_at DESC, suite",
        "checks",
    ),
    Table.repairs: View(
        _same("pipeline", "repair_id", "kind", "state")
        | {WHEN: '"staged_at"'}
        | {
            "first": "ranges[1]['start']",
            "last": "array_element(ranges, -1)['end']",
            "parts": "cardinality(ranges)",
        }
        | _same(
            "added",
            "removed",
            "changed",
            "unexplained",
            "late_merged",
            "table_version",
            "seconds",
            "approved_by",
            "staged_at",
        ),
        "staged_at DESC",
        "repairs",
    ),
    # A command draws bars of the two numbers (cli/look.py).
    Table.growth: View(
        _same("pipeline")
        | {WHEN: '"started_at"'}
        | _same("state_rows", "rows_out", "read", "run_id", "kind", "started_at"),
        "started_at DESC",
        "runs",
        more={},
    ),
    # The account of each of several topics is in one text (audit/topic_account.py).
    Table.topics: View(
        _same("pipeline")
        | {"topic": _ACCOUNT, "batch": '"batch_id"', WHEN: '"audited_at"', "newest": _ACCOUNT}
        | dict.fromkeys(OF_A_TOPIC, _ACCOUNT)
        | _same("run_id", "audited_at"),
        "audited_at DESC",
        "batches",
        f"(SELECT * FROM batches WHERE {_ACCOUNT} IS NOT NULL)",
        more={},
    ),
    # A map, which an older Sluice's table lacks: then DataFusion knows not even its type.
    Table.rules: View(
        _same("pipeline")
        | {"rule": "rules", "batch": '"batch_id"', WHEN: '"audited_at"', "failed": "rules"}
        | _same("read", "run_id", "audited_at"),
        "audited_at DESC",
        "batches",
        "(SELECT * FROM batches WHERE rules IS NOT NULL)",
        more={},
    ),
}


def columns(table: Table) -> dict[str, str]:
    """Name -> SQL expression of all columns that the user may choose: the view's, then the others
    of the ops table.
    """
    from spark_jobs.ops.schema import SCHEMAS  # noqa: PLC0415 - pyarrow, which the help does not need

    view = VIEWS[table]
    stored = _same(*(field.name for field in SCHEMAS[view.stored] if field.name not in LISTS))
    more = stored if view.more is None else view.more
    shown = set(view.columns.values())
    return view.columns | {
        name: sql for name, sql in more.items() if name not in view.columns and sql not in shown
    }


def select(
    root: str, table: Table, pipeline: str | None, limit: int, names: tuple[str, ...]
) -> Rows:
    """The newest `limit` rows, of one pipeline or of all.

    Raises KeyError for a name that `columns` does not have.
    """
    from spark_jobs.ops import ops_tables  # noqa: PLC0415 - as above

    view = VIEWS[table]
    known = columns(table)
    expressions = ", ".join(f'{known[name]} AS "{name}"' for name in names)
    if whole := {Table.topics: _ACCOUNT, Table.rules: "rules"}.get(table):
        expressions += f", {whole} AS {_WHOLE}"
    where = f"WHERE pipeline = '{pipeline}'" if pipeline else ""
    sql = (
        f"SELECT {expressions} FROM {view.source or view.stored} {where} ORDER BY {view.order} "
        f"LIMIT {limit}"
    )
    rows = ops_tables.query(opened(root), view.stored, sql).to_pylist()
    if table is Table.topics:
        rows = [*islice(_by_topic(rows), limit)]
    if table is Table.rules:
        of_rules = ({**row, "rule": of, "failed": n} for row in rows for of, n in row[_WHOLE])
        rows = [*islice(of_rules, limit)]
    return Rows(names, tuple(tuple(row[name] for name in names) for row in rows))


def _by_topic(batches: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in batches:
        for name, of in json.loads(row[_WHOLE]).items():
            counts = {each: of.get(each, 0) for each in OF_A_TOPIC}
            yield {**row, **counts, "topic": name, "newest": moment(of.get(NEWEST))}
