"""The verdict of a run's checks: whether its rows may be published.

Runs, check tasks and the cursor all use it.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.errors import ChangeUnexplained, CheckBroken, CheckFailed, RangeThinned
from spark_jobs.messages.report import CheckResult
from spark_jobs.spec.checks.check import OF_THE_ACCOUNT, OF_THE_REJECTED

CHECK_CODES = frozenset(
    {CheckFailed.code, CheckBroken.code, ChangeUnexplained.code, RangeThinned.code}
)
"""Problems of a run that did its work. For these the check tasks fail, not the run's task."""


def verdict(
    pipeline: str, table_version: int | None, checks: Iterable[CheckResult]
) -> CheckBroken | CheckFailed | None:
    """CheckBroken if a critical check could not be evaluated, else CheckFailed if one failed, else
    None.

    The error names all such checks. Its reason is the first one's by this order: the account, which
    all else rests on; rows; what was rejected; any other number of the run.
    """
    results = tuple(checks)
    if broken := broken_checks(pipeline, results):
        return broken
    return (
        _run_failed(pipeline, table_version, failed) if (failed := failed_checks(results)) else None
    )


def broken_checks(pipeline: str, results: Iterable[CheckResult]) -> CheckBroken | None:
    """The error of critical checks that could not be evaluated; None without one."""
    broken = [c for c in results if c.outcome == "broken" and c.severity == "critical"]
    if not broken:
        return None
    named = "; ".join(f"{check.name} could not be evaluated: {check.observed}" for check in broken)
    return CheckBroken.not_evaluated(pipeline=pipeline, name=named)


def failed_checks(results: Iterable[CheckResult]) -> list[CheckResult]:
    """The critical ones that failed."""
    return [
        check for check in results if check.outcome == "failed" and check.severity == "critical"
    ]


def _run_failed(pipeline: str, table_version: int | None, failed: list[CheckResult]) -> CheckFailed:
    """Rows can be corrected only where a check of rows failed: there are some then."""
    count, named = len(failed), named_checks(failed)
    metrics = {check.column for check in failed if check.suite == "state"}
    if metrics & OF_THE_ACCOUNT:
        return CheckFailed.account_failed(pipeline=pipeline, count=count, failed=named)
    if any(check.suite == "output" for check in failed):
        return CheckFailed.rows_failed(
            pipeline=pipeline, count=count, failed=named, table_version=table_version
        )
    if metrics & OF_THE_REJECTED:
        return CheckFailed.records_rejected(pipeline=pipeline, count=count, failed=named)
    return CheckFailed.state_failed(pipeline=pipeline, count=count, failed=named)


def named_checks(failed: Iterable[CheckResult]) -> str:
    """Their names, with what was observed."""
    return ", ".join(f"{check.name}{_number(check)}" for check in failed)


def _number(check: CheckResult) -> str:
    """How many rows fail it; of a check of numbers, the number. What was observed in rows may be a
    row's value.
    """
    if check.suite != "output":
        return f" ({check.observed})" if check.observed else ""
    return f" ({check.unexpected} rows)" if check.unexpected else ""
