"""Drained: the results of a run's batches, from its account, its checkpoint and its table."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.audit.audit import Audit
from spark_jobs.checkpoint.run import Run
from spark_jobs.launch.limits import RunLimits
from spark_jobs.runs.archive_lag import archive_lag
from spark_jobs.runs.run_outcome import Drained
from spark_jobs.source.micro_batch import Batch, Offsets
from spark_jobs.source.port import SourceState
from spark_jobs.spec import Pipeline

NO_BATCH = Batch(-1, {}, {}, 0, 0)
"""The state of a checkpoint before its first batch."""


def drained(
    run: Run, audit: Audit, recovered: tuple[int, ...], limits: RunLimits, topic: SourceState
) -> Drained:
    """Call it after the last batch has its account.

    `topic`: as it was when the run began.
    """
    committed = run.checkpoint.committed()
    accounts = audit.accounts
    last = run.checkpoint.batch(committed[-1]) if committed else NO_BATCH
    start = run.checkpoint.batch(min(accounts)).start if accounts else last.end
    return Drained(
        generation=run.identity.generation,
        batches=tuple(accounts),
        recovered=recovered,
        account=audit.total,
        state=audit.cursor.state.model_copy(update={"rows_before": audit.rows_before}),
        start=start,
        end=last.end,
        watermark=last.watermark,
        open_until=_open_until(run.spec, audit),
        bounded_by=limits.reached,
        waiting=sum(waits(topic, last.end).values()) if limits.reached else 0,
        archive_lag=archive_lag(topic, start)
        if run.spec.is_archive and 0 not in accounts
        else None,
        table_version_before=audit.cursor.judged_table_version,
        table_version=run.target.table.version(),
    )


def _open_until(spec: Pipeline, audit: Audit) -> datetime | None:
    windows = [step.grouping_window for step in spec.steps if step.grouping_window]
    newest = audit.cursor.last_event_time
    return windows[-1].last_end(newest) if windows and newest and audit.cursor.state.open else None


def waits(topic: SourceState, end: Offsets) -> Offsets:
    """Partition -> how many offsets are left to read.

    A run may have read past the end that a partition had when it began: that takes nothing from
    what is left in another. Of a partition that no batch has read, all that retention has left
    waits.

    >>> waits(SourceState("id", {0: 0, 1: 0, 2: 40}, {0: 10, 1: 20, 2: 45}), {0: 13, 1: 16})
    {0: 0, 1: 4, 2: 5}
    """
    begins = {**topic.begins, **end}
    return {p: max(latest - begins.get(p, 0), 0) for p, latest in topic.latest.items()}
