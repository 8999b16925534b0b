"""History: the runs and batches of a pipeline, and the seconds of their phases, read of the ops
tables for a view, without a JVM.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from spark_jobs.errors import FormatNewer, ReportMissing
from spark_jobs.messages.kind import LIVE_KINDS
from spark_jobs.messages.offset_account import OF_BATCHES, UNKNOWABLE, Account
from spark_jobs.messages.report import Report, StateUse, parse_report
from spark_jobs.ops import ops_tables
from spark_jobs.ops.accounts import failing_rules
from spark_jobs.ops.check_history import check_lines
from spark_jobs.ops.json_of_tables import (
    Batches,
    BatchLine,
    PhaseLine,
    Phases,
    RunLine,
    RunPage,
    Runs,
    TopicLine,
)
from spark_jobs.ops.next_steps import next_steps
from spark_jobs.ops.or_why import was_told
from spark_jobs.ops.terms import NEWEST, moment
from spark_jobs.ops.views import OF_A_TOPIC
from spark_jobs.values.spans import MICROSECOND

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row

COUNTS = ("read", "rows_out", "duplicates", "late", "malformed", "premature", "unaccounted")
_TRY = re.compile(r"([a-z]+-)?try\d+")
LINE = ", ".join(name for name in RunLine.model_fields if name != "filtered")
BATCH = ", ".join(
    (
        *(name for name in BatchLine.model_fields if name not in {"batch", "account", "steps"}),
        # An older Sluice did not write each count. What the audit does not know is not 0.
        *(name if name in UNKNOWABLE else f"coalesce({name}, 0) AS {name}" for name in OF_BATCHES),
        "batch_id AS batch",
        "operators",
    )
)
STEP = {
    "step": "step",
    "kind": "kind",
    "rows": "numRowsTotal",
    "memory": "memoryUsedBytes",
    "files": "rocksdbSstFileSize",
}
"""Field of StepUse -> the field of the structs in ops.batches."""
_LIVE = ops_tables.among("kind", LIVE_KINDS)
_LINES = TypeAdapter(list[BatchLine])


def runs(root: UPath, pipeline: str, limit: int, offset: int) -> Runs:
    """A page of runs, newest first."""
    where = ops_tables.equals({"pipeline": pipeline})
    rows = ops_tables.query(
        root,
        "runs",
        f"SELECT {LINE} FROM runs WHERE {where} ORDER BY started_at DESC, run_id "
        f"LIMIT {limit + 1} OFFSET {offset}",
    ).to_pylist()
    filtered = _filtered(root, where) if rows else {}
    return Runs(
        runs=tuple(
            _line(row | {"filtered": filtered.get(row["run_id"], 0)}) for row in rows[:limit]
        ),
        more=len(rows) > limit,
    )


def tries(root: UPath, pipeline: str, dag_run: str, *, drains: bool) -> tuple[RunLine, ...]:
    """The runs of one DAG run of Airflow, newest first; a pipeline's two DAGs may have the same id.

    A run's id is its DAG run's and `-try<n>`, with a word between in the DAG of backfills.
    """
    own = ops_tables.equals({"pipeline": pipeline})
    start = ops_tables.equals({"": f"{dag_run}-"}).removeprefix(" = ")
    rows = ops_tables.query(
        root,
        "runs",
        # Not LIKE, which takes a % or _ of the id for any text.
        f"SELECT {LINE} FROM runs WHERE {own} AND starts_with(run_id, {start}) "
        f"AND {'' if drains else 'NOT '}({_LIVE}) ORDER BY started_at DESC, run_id",
    ).to_pylist()
    return tuple(_line(row) for row in rows if is_try(row["run_id"], dag_run))


def is_try(run_id: str, dag_run: str) -> bool:
    """Whether the run is a try of this DAG run of Airflow."""
    rest = run_id.removeprefix(f"{dag_run}-")
    return rest != run_id and _TRY.fullmatch(rest) is not None


def batches(root: UPath, pipeline: str, limit: int, offset: int) -> Batches:
    """A page of batches, newest first."""
    rows = _batches(
        root,
        ops_tables.equals({"pipeline": pipeline}),
        f"audited_at DESC, batch_id DESC LIMIT {limit + 1} OFFSET {offset}",
    )
    return Batches(batches=tuple(rows[:limit]), more=len(rows) > limit)


def batches_of(root: UPath, pipeline: str, run_id: str) -> list[BatchLine]:
    """Those that a run has accounted for, ascending."""
    return _batches(root, ops_tables.equals({"pipeline": pipeline, "run_id": run_id}), "batch_id")


def sum_of(batches: Sequence[BatchLine]) -> Account:
    """The account of all of them."""
    return sum((batch.account for batch in batches), Account())


def run(root: UPath, pipeline: str, run_id: str) -> RunPage | None:
    """All that is stored of a run, by its last row; None without one."""
    of_it = ops_tables.equals({"pipeline": pipeline, "run_id": run_id})
    found = ops_tables.query(
        root,
        "runs",
        f"SELECT {LINE}, report FROM runs WHERE {of_it} ORDER BY ended_at DESC LIMIT 1",
    ).to_pylist()
    if not found:
        return None
    report, lacking = _report(found[0])
    line = _line(found[0])
    results = report.checks if report else ()
    of_run = tuple(batches_of(root, pipeline, run_id))
    cut_off = _cut_off(report, of_run)
    account = report.account if report and not cut_off else sum_of(of_run)
    return RunPage(
        line=line,
        lacking=lacking,
        what=report.problem if report else None,
        account=account,
        cut_off=cut_off,
        bounded_by=report.bounded_by if report else "",
        waiting=report.waiting if report else 0,
        change=report.change if report else None,
        published=was_told(root, pipeline, of_run),
        state=report.state if report else StateUse(),
        seconds=report.seconds if report else {},
        offsets_start=report.offsets_start if report else {},
        offsets_end=report.offsets_end if report else {},
        held_back=report.held_back if report else {},
        batches=of_run,
        topics=_topics([each.topics for each in of_run]),
        rules=failing_rules(each.rules for each in of_run),
        checks=tuple(check_lines(root, line, results)),
        next_command=next_steps(line, results)[0].command,
        next_steps=next_steps(line, results),
    )


def _cut_off(report: Report | None, batches: Sequence[BatchLine]) -> bool:
    return bool(batches) and not (report and report.batches)


def _topics(accounts: Iterable[str | None]) -> tuple[TopicLine, ...]:
    counts, newest = dict[str, Counter[str]](), dict[str, int]()
    for account in filter(None, accounts):
        for name, each in json.loads(account).items():
            at = each.pop(NEWEST, None)
            counts.setdefault(name, Counter()).update(each)
            if at is not None:
                newest[name] = max(at, newest.get(name, at))
    first = max(newest.values(), default=0)
    return tuple(
        TopicLine(
            topic=name,
            newest=moment(newest.get(name)),
            behind=(first - newest[name]) * MICROSECOND if name in newest else None,
            **{each: of[each] for each in OF_A_TOPIC if each in TopicLine.model_fields},
        )
        for name, of in counts.items()
    )


def _filtered(root: UPath, where: str) -> dict[str, int]:
    """ops.runs has no column of it."""
    rows = ops_tables.query(
        root,
        "batches",
        f"SELECT run_id, sum(filtered) AS n FROM batches WHERE {where} AND filtered > 0 "
        "GROUP BY run_id",
    ).to_pylist()
    return {row["run_id"]: row["n"] for row in rows}


def _line(row: Row) -> RunLine:
    known = {name: row[name] or 0 for name in COUNTS if name not in UNKNOWABLE}
    return RunLine(**row | known)


def _batches(root: UPath, where: str, order: str) -> list[BatchLine]:
    found = ops_tables.query(
        root, "batches", f"SELECT {BATCH} FROM batches WHERE {where} ORDER BY {order}"
    )
    place = found.schema.get_field_index("operators")
    rows = found.set_column(place, "steps", _steps(found["operators"])).to_pylist()
    # All at once: one after the other, 5,000 batches take three times as long.
    return _LINES.validate_python(
        [
            row
            | {
                "account": row,
                "steps": row["steps"] or (),
                "rules": dict(row["rules"] or ()) or None,
                "unmatched": dict(row["unmatched"] or ()) or None,
            }
            for row in rows
        ]
    )


def _steps(operators: pa.ChunkedArray) -> pa.Array:
    lists = operators.combine_chunks()
    each = lists.values
    fields = [each.field(name) for name in STEP.values()]
    fields[0] = pc.add(fields[0], 1)  # the ops table counts steps from 0
    steps = pa.StructArray.from_arrays(fields, [*STEP])
    return pa.ListArray.from_arrays(lists.offsets, steps, mask=lists.is_null())


def _report(row: Row) -> tuple[Report | None, str | None]:
    """None, and why, if another Sluice wrote it in a form that this one does not read."""
    try:
        return parse_report(row["report"] or "", f"ops.runs, {row['run_id']}"), None
    except (ReportMissing, FormatNewer) as error:
        return None, str(error)


def phases(root: UPath, pipeline: str, limit: int, offset: int) -> Phases:
    """A page of runs, newest first, each with its seconds by phase."""
    where = ops_tables.equals({"pipeline": pipeline})
    rows = ops_tables.query(
        root,
        "runs",
        f"SELECT run_id, started_at, report FROM runs WHERE {where} "
        f"ORDER BY started_at DESC, run_id LIMIT {limit + 1} OFFSET {offset}",
    ).to_pylist()
    return Phases(
        runs=tuple(
            PhaseLine(
                run_id=row["run_id"],
                started_at=row["started_at"],
                seconds=seconds_of(row["report"]),
            )
            for row in rows[:limit]
        ),
        more=len(rows) > limit,
    )


def seconds_of(report: str | None) -> dict[str, float]:
    """Phase -> seconds, of a report of any version: a killed run has none, and the views go on
    without.
    """
    try:
        found = json.loads(report or "{}").get("seconds", {})
    except (ValueError, AttributeError):
        return {}
    return {
        name: float(value)
        for name, value in (found.items() if isinstance(found, dict) else ())
        if isinstance(value, int | float)
    }
