"""A report with something in every field, of tests/unit/specs.py's pipeline."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Problem, Report, StateUse
from tests.unit.specs import pipeline

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PERSON = "a person's value"
"""What failing rows have."""


def report(problem: Problem | None = None, *checks: CheckResult, **more: Any) -> Report:
    return Report(
        **{
            "pipeline": pipeline().name,
            "run_id": "r",
            "status": "failed" if problem else "succeeded",
            "problem": problem,
            "started_at": NOON,
            "ended_at": NOON + timedelta(seconds=20),
            "generation": "g1",
            "batches": (0, 1),
            "offsets_start": {"0": 3, "1": 0},
            "offsets_end": {"0": 10, "1": 5},
            "watermark": NOON - timedelta(hours=1),
            "account": Account(
                covered=12, read=12, malformed=1, premature=2, late=3, accepted=6, rows_out=4
            ),
            "state": StateUse(rows=7, bytes=900),
            "table_version": 7,
            "checks": checks,
            "seconds": {"start": 2.5, "query": 6.25},
        }
        | more
    )


def check(outcome: str = "passed", suite: str = "output", **more: Any) -> CheckResult:
    return CheckResult.model_validate(
        {
            "suite": suite,
            "type": "expect_column_values_to_be_between",
            "column": "total" if suite == "output" else "state_rows",
            "severity": "critical",
            "outcome": outcome,
            "observed": json.dumps(PERSON) if suite == "output" else "7",
            "unexpected": 3 if outcome == "failed" else 0,
            "sample": json.dumps([PERSON]),
            **more,
        }
    )
