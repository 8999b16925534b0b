"""Evaluation: runs the checks over a run's rows and state, writes ops.checks, and moves the cursor
past rows that passed.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from spark_jobs.audit.audit import Audit
from spark_jobs.checkpoint.cursor import Cursor
from spark_jobs.checks import expectations
from spark_jobs.contract.report import CheckResult
from spark_jobs.contract.state_metrics import StateMetrics
from spark_jobs.contract.verdict import verdict
from spark_jobs.ops import ops_tables
from spark_jobs.run import Run
from spark_jobs.runs.open_groups import OpenGroups, open_groups
from spark_jobs.runs.outcome import Drained
from spark_jobs.runs.unjudged import Unjudged, unjudged
from spark_jobs.sink import history

LOG = logging.getLogger(__name__)


def evaluate_checks(run: Run, audit: Audit, drained: Drained) -> tuple[CheckResult, ...]:
    """Check the rows and the account since the last version that passed, and the state.

    What does not pass is checked again by the next run, with what is new then: a failure stays
    until it is mended.
    """
    waiting = unjudged(run, audit.cursor)
    earlier = tuple(batch for batch in waiting.batches if batch not in audit.accounts)
    if earlier:
        LOG.warning(
            "%s: also judging batches %s of earlier runs, which have not passed the checks",
            run.spec.name,
            list(earlier),
        )
    groups = open_groups(run, audit.cursor, waiting)
    metrics = state_metrics(run, audit.cursor, waiting, drained, groups)
    results = (
        *expectations.check_output(run, drained.table_version_before, drained.table_version),
        *expectations.check_state(run, metrics),
    )
    now = datetime.now(UTC)
    ops_tables.append(
        run.paths.root,
        "checks",
        [
            {
                "pipeline": run.spec.name,
                "generation": run.identity.generation,
                "run_id": run.run_id,
                "checked_at": now,
                "table_version": drained.table_version,
            }
            | result.model_dump()
            for result in results
        ],
    )
    if verdict(run.spec.name, drained.table_version, results) is None:
        audit.passed(_passed_version(run, drained), groups.records)
    return results


def _passed_version(run: Run, drained: Drained) -> int | None:
    """The version that consumers may read. It stays where only files were joined or removed since:
    a publication would tell them of nothing.
    """
    before, now = drained.table_version_before, drained.table_version
    if before is None or now is None or before >= now:
        return now
    return now if history.rows_changed(run.target.table, before, now) else before


def state_metrics(
    run: Run, cursor: Cursor, waiting: Unjudged, drained: Drained, groups: OpenGroups
) -> StateMetrics:
    """The metrics that the state checks evaluate: counts, bytes, seconds, and shares from 0 to 1.

    Those of the account are of all batches that have not passed yet; the others are of the end of
    the run.
    """
    account = waiting.account
    state = drained.state
    entered = account.accepted + account.late
    decoded = entered + account.premature + account.filtered
    return StateMetrics(
        unaccounted=account.unaccounted,
        groups_unaccounted=groups.unaccounted,
        rows_read=account.read,
        state_rows=state.rows,
        state_bytes=state.bytes,
        state_growth=_share(state.rows - waiting.state_rows_before, entered),
        late_share=_share(account.late, decoded),
        malformed_share=_share(account.malformed, account.read),
        premature_share=_share(account.premature, account.read),
        duplicate_share=_share(account.duplicates, account.accepted),
        watermark_lag_seconds=_lag(cursor.last_event_time, drained.watermark),
        behind_watermark_seconds=_behind(run),
        still_batches=cursor.still_batches,
        timers_per_row=cursor.timers_waiting / state.rows
        if cursor.timers_waiting and state.rows
        else None,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _lag(newest: datetime | None, watermark: datetime | None) -> float | None:
    return (newest - watermark).total_seconds() if newest and watermark else None


def _behind(run: Run) -> float | None:
    """Seconds from the watermark of the last batch to that of the next one; None without a batch or
    a watermark.
    """
    committed = run.checkpoint.committed()
    if not committed or run.spec.watermark_delay is None:
        return None
    last = run.checkpoint.batch(committed[-1])
    return max(0, run.checkpoint.next_watermark_ms(last.id) - last.watermark_ms) / 1000
