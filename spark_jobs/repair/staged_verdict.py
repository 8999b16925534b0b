"""Staged verdict: whether the rows that a repair has staged may take the table's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import ChangeUnexplained, CheckFailed, RangeThinned, SluiceError
from spark_jobs.messages.verdict import broken_checks, failed_checks, named_checks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.messages.report import CheckResult
    from spark_jobs.values.spans import Span

UNEXPLAINED, NEWLY_BAD = "unexplained", "newly_bad"
"""Metrics of a repair's suite `change`: changed rows which no record explains, and records that are
bad by today's spec and in no quarantine.
"""
THINNED, UNACCOUNTED = "thinned", "unaccounted"
"""Two more: records that compaction has removed, and mismatches that it does not explain."""


def staged_verdict(
    pipeline: str, checks: Iterable[CheckResult], span: Span | None = None
) -> SluiceError | None:
    """As of a run; the table is as it was.

    RangeThinned if compaction has removed records of them. ChangeUnexplained if the check of that
    is among those that failed. `span` is the range that a verify has compared.
    """
    results = tuple(checks)
    if broken := broken_checks(pipeline, results):
        return broken
    if not (failed := failed_checks(results)):
        return None
    of_change = {check.column: check for check in failed if check.suite == "change"}
    if THINNED in of_change and UNACCOUNTED not in of_change:
        return RangeThinned.proof_compacted(pipeline=pipeline, gone=of_change[THINNED].observed)
    unexplained = UNEXPLAINED in of_change
    count, named = len(failed), named_checks(failed)
    if span is not None and NEWLY_BAD in of_change:
        start, end = (at.isoformat().replace("+00:00", "Z") for at in span)
        newly_bad = ChangeUnexplained.newly_bad if unexplained else CheckFailed.newly_bad
        return newly_bad(pipeline=pipeline, count=count, failed=named, start=start, end=end)
    if unexplained:
        return ChangeUnexplained.rows_unexplained(pipeline=pipeline, count=count, failed=named)
    of_rows = any(check.suite == "output" for check in failed)
    staged = CheckFailed.staged_failed if of_rows else CheckFailed.change_failed
    return staged(pipeline=pipeline, count=count, failed=named)
