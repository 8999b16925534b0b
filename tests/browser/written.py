"""A pipeline with 60 runs, written by the writers that drains use: for what takes days to happen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spark_jobs.contract.report import Account, Problem, Report, StateUse
from spark_jobs.contract.store import opened
from spark_jobs.ops import ops_tables
from spark_jobs.runs.run_record import append_row

NAME = "flight_events"
RUNS = 60
FAILED = 41
"""The run that found no broker."""
LATE_MINUTES = (11, 25, 40)
"""Of the late records of yesterday: how late each was."""
GROWTH = 900
"""Rows by which the state grows in a run."""


def write(root: Path) -> None:
    """A run an hour up to now. Each reads 1,000 records."""
    first = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=RUNS)
    for place in range(RUNS):
        append_row(_report(place, first + timedelta(hours=place)), str(root))
    stored = opened(str(root))
    ops_tables.append(stored, "batches", [_batch(place, first) for place in range(RUNS)])
    ops_tables.append(stored, "late", [*_late()])


def _run_id(place: int) -> str:
    return f"scheduled__{place}-try1"


def _account() -> Account:
    return Account(
        covered=1000,
        read=1000,
        accepted=987,
        malformed=8,
        late=5,
        duplicates=40,
        rows_out=942,
    )


def _report(place: int, began: datetime) -> Report:
    failed = place == FAILED
    problem = Problem(
        code="KAFKA_UNREACHABLE",
        what="no broker of kafka:9092 answers within 7 s.",
        remedy="Start it, or correct SLUICE_KAFKA.",
    )
    return Report(
        pipeline=NAME,
        run_id=_run_id(place),
        status="failed" if failed else "succeeded",
        problem=problem if failed else None,
        started_at=began,
        ended_at=began + timedelta(seconds=20),
        generation="g1",
        batches=() if failed else (place,),
        offsets_end={"0": 1000 * (place + 1)},
        account=Account() if failed else _account(),
        state=StateUse(rows=10_000 + GROWTH * place),
        watermark=began - timedelta(hours=2),
        seconds={"query": 6.5, "checks": 2.0},
    )


def _batch(place: int, first: datetime) -> dict[str, Any]:
    began = first + timedelta(hours=place)
    rows = 10_000 + GROWTH * place
    known = {"pipeline": NAME, "generation": "g1", "batch_id": place, "run_id": _run_id(place)}
    return (
        known
        | _account().model_dump()
        | {
            "audited_at": began + timedelta(seconds=15),
            "seconds": 5.0,
            "source": "progress",
            "watermark": began - timedelta(hours=2),
            "offsets_start": f'{{"0": {1000 * place}}}',
            "offsets_end": f'{{"0": {1000 * (place + 1)}}}',
            "state_rows": rows,
            "state_bytes": rows * 120,
            "operators": [{"step": 0, "kind": "deduplicate", "numRowsTotal": rows}],
        }
    )


def _late() -> list[dict[str, Any]]:
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    yesterday = noon - timedelta(days=1)
    known = {"pipeline": NAME, "generation": "g1", "batch_id": 40, "run_id": _run_id(40)}
    return [
        known
        | {
            "topic": "flights",
            "partition": 0,
            "offset": 40_000 + place,
            "kafka_timestamp": yesterday,
            "event_time": yesterday - timedelta(hours=2, minutes=minutes),
            "watermark_missed": yesterday - timedelta(hours=2),
            "step": "deduplicate",
            "value": b"{}",
        }
        for place, minutes in enumerate(LATE_MINUTES)
    ]
