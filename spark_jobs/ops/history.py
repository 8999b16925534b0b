"""History: the runs and batches of a pipeline, and the seconds of their phases, read of the ops
tables for a view, without a JVM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from spark_jobs.messages.kind import LIVE_KINDS
from spark_jobs.messages.offset_account import OF_BATCHES, UNKNOWABLE, Account
from spark_jobs.ops import ops_tables
from spark_jobs.ops.json_of_tables import (
    Batches,
    BatchLine,
    PhaseLine,
    Phases,
    RunLine,
    Runs,
)

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
            run_line(row | {"filtered": filtered.get(row["run_id"], 0)}) for row in rows[:limit]
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
    return tuple(run_line(row) for row in rows if is_try(row["run_id"], dag_run))


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


def _filtered(root: UPath, where: str) -> dict[str, int]:
    """ops.runs has no column of it."""
    rows = ops_tables.query(
        root,
        "batches",
        f"SELECT run_id, sum(filtered) AS n FROM batches WHERE {where} AND filtered > 0 "
        "GROUP BY run_id",
    ).to_pylist()
    return {row["run_id"]: row["n"] for row in rows}


def run_line(row: Row) -> RunLine:
    """Of a row with LINE."""
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
