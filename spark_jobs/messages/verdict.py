"""The verdict of a run's checks: whether its rows may be published.

Runs, check tasks and the cursor all use it.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.errors import ChangeUnexplained, CheckBroken, CheckFailed, RangeThinned, SluiceError
from spark_jobs.messages.report import CheckResult
from spark_jobs.spec.checks.check import OF_THE_ACCOUNT, OF_THE_REJECTED
from spark_jobs.values.spans import Span

CHECK_CODES = frozenset(
    {CheckFailed.code, CheckBroken.code, ChangeUnexplained.code, RangeThinned.code}
)
"""Problems of a run that did its work. For these the check tasks fail, not the run's task."""
UNEXPLAINED, NEWLY_BAD = "unexplained", "newly_bad"
"""Metrics of a repair's suite `change`: changed rows which no record explains, and records that are
bad by today's spec and in no quarantine.
"""
THINNED, UNACCOUNTED = "thinned", "unaccounted"
"""Two more: records that compaction has removed, and mismatches that it does not explain."""


def verdict(
    pipeline: str, table_version: int | None, checks: Iterable[CheckResult]
) -> CheckBroken | CheckFailed | None:
    """CheckBroken if a critical check could not be evaluated, else CheckFailed if one failed, else
    None.

    The error names all such checks. Its reason is the first one's by this order: the account, which
    all else rests on; rows; what was rejected; any other number of the run.
    """
    results = tuple(checks)
    if broken := _broken(pipeline, results):
        return broken
    return _run_failed(pipeline, table_version, failed) if (failed := _failed(results)) else None


def staged_verdict(
    pipeline: str, checks: Iterable[CheckResult], span: Span | None = None
) -> SluiceError | None:
    """The same for the rows that a repair has staged: the table is as it was.

    RangeThinned if compaction has removed records of them. ChangeUnexplained if the check of that
    is among those that failed. `span` is the range that a verify has compared.
    """
    results = tuple(checks)
    if broken := _broken(pipeline, results):
        return broken
    if not (failed := _failed(results)):
        return None
    of_change = {check.column: check for check in failed if check.suite == "change"}
    if THINNED in of_change and UNACCOUNTED not in of_change:
        return RangeThinned.proof_compacted(pipeline=pipeline, gone=of_change[THINNED].observed)
    unexplained = UNEXPLAINED in of_change
    count, named = len(failed), _named(failed)
    if span is not None and NEWLY_BAD in of_change:
        start, end = (at.isoformat().replace("+00:00", "Z") for at in span)
        newly_bad = ChangeUnexplained.newly_bad if unexplained else CheckFailed.newly_bad
        return newly_bad(pipeline=pipeline, count=count, failed=named, start=start, end=end)
    if unexplained:
        return ChangeUnexplained.rows_unexplained(pipeline=pipeline, count=count, failed=named)
    of_rows = any(check.suite == "output" for check in failed)
    staged = CheckFailed.staged_failed if of_rows else CheckFailed.change_failed
    return staged(pipeline=pipeline, count=count, failed=named)


def _broken(pipeline: str, results: tuple[CheckResult, ...]) -> CheckBroken | None:
    broken = [c for c in results if c.outcome == "broken" and c.severity == "critical"]
    if not broken:
        return None
    named = "; ".join(f"{check.name} could not be evaluated: {check.observed}" for check in broken)
    return CheckBroken.not_evaluated(pipeline=pipeline, name=named)


def _failed(results: tuple[CheckResult, ...]) -> list[CheckResult]:
    return [
        check for check in results if check.outcome == "failed" and check.severity == "critical"
    ]


def _run_failed(pipeline: str, table_version: int | None, failed: list[CheckResult]) -> CheckFailed:
    """Rows can be corrected only where a check of rows failed: there are some then."""
    count, named = len(failed), _named(failed)
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


def _named(failed: list[CheckResult]) -> str:
    return ", ".join(f"{check.name}{_number(check)}" for check in failed)


def _number(check: CheckResult) -> str:
    """How many rows fail it; of a check of numbers, the number. What was observed in rows may be a
    row's value.
    """
    if check.suite != "output":
        return f" ({check.observed})" if check.observed else ""
    return f" ({check.unexpected} rows)" if check.unexpected else ""
