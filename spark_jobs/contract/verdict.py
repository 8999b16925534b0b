"""Verdict: whether the rows of a run may be published, by its checks. Runs, check tasks and the cursor go by this one."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contract.errors import CheckBroken, CheckFailed
from spark_jobs.contract.report import CheckResult


def verdict(pipeline: str, table_version: int | None, checks: Iterable[CheckResult]) -> CheckBroken | CheckFailed | None:
    """The error of a check that could not be evaluated, else of the critical ones that failed, naming all; else None."""
    judged = tuple(checks)
    broken = [check for check in judged if check.outcome == "broken"]
    if broken:
        named = "; ".join(f"{check.name} could not be evaluated: {check.observed}" for check in broken)
        return CheckBroken(f"{pipeline}: {named}.", "Correct the check in the spec: its column, its arguments or their types.")
    failed = [check for check in judged if check.outcome == "failed" and check.severity == "critical"]
    if failed:
        named = ", ".join(f"{check.name} ({check.unexpected} rows)" for check in failed)
        return CheckFailed(
            f"{pipeline}: {len(failed)} critical check(s) failed: {named}. Nothing is published: the rows are in table version "
            f"{table_version}.", f"See the failing values: sluice show checks --pipeline {pipeline}.")
    return None
