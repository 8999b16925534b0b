"""The verdict of a run's checks: whether its rows may be published.

Runs, check tasks and the cursor all use it.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contract.errors import CheckBroken, CheckFailed
from spark_jobs.contract.report import CheckResult


def verdict(
    pipeline: str, table_version: int | None, checks: Iterable[CheckResult]
) -> CheckBroken | CheckFailed | None:
    """CheckBroken if any check could not be evaluated, else CheckFailed if any critical one failed,
    else None.

    The error names all such checks.
    """
    results = tuple(checks)
    broken = [check for check in results if check.outcome == "broken"]
    if broken:
        named = "; ".join(
            f"{check.name} could not be evaluated: {check.observed}" for check in broken
        )
        return CheckBroken(
            f"{pipeline}: {named}.",
            "Correct the check in the spec: its column, its arguments or their types.",
        )
    failed = [
        check for check in results if check.outcome == "failed" and check.severity == "critical"
    ]
    if failed:
        named = ", ".join(f"{check.name} ({check.unexpected} rows)" for check in failed)
        return CheckFailed(
            f"{pipeline}: {len(failed)} critical check(s) failed: {named}. The rows are written "
            "in table version "
            f"{table_version}, but not published.",
            f"See the failing values: sluice show checks --pipeline {pipeline}. Then correct the "
            "rows in the table and run again, or publish them as they are: "
            f"sluice accept {pipeline} --check NAME --reason TEXT",
        )
    return None
