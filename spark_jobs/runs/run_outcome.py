"""Run outcome: the results of a run's batches so far, from account, checkpoint and table; and the
report made of them, also if the run fails.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import Final, Literal

from spark_jobs.checkpoint.run import Run
from spark_jobs.checkpoint.standing import DataLoss
from spark_jobs.errors import SluiceError, unexpected
from spark_jobs.launch.processes import processor_seconds, taken_before
from spark_jobs.messages.change import Change
from spark_jobs.messages.kind import Kind
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import HeldBack, NewKey
from spark_jobs.messages.report import CheckResult, Problem, Report, StateUse
from spark_jobs.messages.withheld import of_report
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.watch.limits import RunLimits
from spark_jobs.runs.watch.stall import PULSE
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.port import End, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline

LAG: Final = "spark_jobs.runs.lag:archive_lag"
Phase = Literal["settle", "start", "recover", "query", "audit", "compare", "checks", "purge"]
"""The phases of a run, in the order of the report's `seconds`.

The time of audit is part of recover and query. Only a repair has compare.
"""


@dataclass(frozen=True)
class Drained:
    """The results of a run's batches.

    Its fields are the report's (messages/report.py). Offsets: partition -> offset.
    """

    generation: str = ""
    """Empty until the run has accounted for its batches."""
    batches: tuple[int, ...] = ()
    recovered: tuple[int, ...] = ()
    account: Account = field(default_factory=Account)
    state: StateUse = field(default_factory=StateUse)
    start: Positions = field(default_factory=Positions)
    end: Positions = field(default_factory=Positions)
    watermark: datetime | None = None
    open_until: datetime | None = None
    bounded_by: str = ""
    waiting: int = 0
    archive_lag: float | None = None
    """Not in the report: the checks have it."""
    table_version_before: int | None = None
    table_version: int | None = None


@dataclass
class RunOutcome:
    """Filled by each phase of a run when it ends, so that the report of a failed run has all
    earlier phases.
    """

    kind: Kind
    pipeline: str
    run_id: str
    personal: bool = False
    """Whether the report may have no value of a record."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    lost: DataLoss = field(default_factory=dict)
    held: Mapping[int, HeldBack] = field(default_factory=dict)
    inputs: Mapping[str, int] = field(default_factory=dict)
    """The tables beside the stream -> their versions."""
    end: End | None = None
    """Where the run is to end, if the spec asks for that."""
    new_keys: tuple[NewKey, ...] = ()
    drained: Drained = Drained()
    checks: tuple[CheckResult, ...] = ()
    repair_id: str = ""
    change: Change | None = None
    seconds: dict[Phase, float] = field(default_factory=dict)
    _lap_began: float = field(default_factory=time.monotonic)
    _taken_before: float = field(default_factory=taken_before)

    def lap(self, phase: Phase) -> None:
        """Record the seconds since the last lap as this phase's."""
        PULSE.beat()
        now = time.monotonic()
        self.took(phase, now - self._lap_began)
        self._lap_began = now

    def took(self, phase: Phase, seconds: float) -> None:
        """Record the seconds of a phase that ran within others."""
        self.seconds[phase] = round(seconds, 3)

    def report(self, problem: SluiceError | None) -> Report:
        """The report of a run that has ended, with `problem` if it did not succeed.

        If the outcome makes no valid report, the report has only the problem: the first error is
        never hidden.
        """
        try:
            report = self._report(problem)
            return of_report(report) if self.personal else report
        except Exception as error:  # noqa: BLE001 - a run leaves a report, whatever is wrong with its outcome
            why = problem or unexpected(error)
            report = Report.of_failure(self.kind, self.pipeline, self.run_id, why, self.started_at)
            return of_report(report) if self.personal else report

    def _report(self, problem: SluiceError | None) -> Report:
        drained = self.drained
        return Report(
            kind=self.kind,
            pipeline=self.pipeline,
            run_id=self.run_id,
            status="failed" if problem else "succeeded",
            problem=Problem.of(problem) if problem else None,
            started_at=self.started_at,
            ended_at=datetime.now(UTC),
            query_seconds=self.seconds.get("query", 0),
            processor_seconds=round(max(processor_seconds() - self._taken_before, 0.0), 3),
            seconds=dict(self.seconds),
            lost={str(partition): span for partition, span in self.lost.items()},
            up_to=self.end.up_to if self.end and self.end.is_end_of(drained.end) else None,
            new_keys=self.new_keys,
            inputs=dict(self.inputs),
            held_back={str(partition): held for partition, held in self.held.items()},
            generation=drained.generation,
            batches=drained.batches,
            recovered=drained.recovered,
            account=drained.account,
            state=drained.state,
            offsets_start=drained.start.named,
            offsets_end=drained.end.named,
            watermark=drained.watermark,
            open_until=drained.open_until,
            bounded_by=drained.bounded_by,
            waiting=drained.waiting,
            table_version_before=drained.table_version_before,
            table_version=drained.table_version,
            checks=self.checks,
            repair_id=self.repair_id,
            change=self.change,
        )


NO_BATCH = Batch(-1, Positions(), Positions(), 0, 0)
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
        archive_lag=resolve_name(LAG)(topic, start)
        if run.spec.is_archive and 0 not in accounts
        else None,
        table_version_before=audit.cursor.judged_table_version,
        table_version=run.target.table.version(),
    )


def _open_until(spec: Pipeline, audit: Audit) -> datetime | None:
    windows = [step.grouping_window for step in spec.steps if step.grouping_window]
    newest = audit.cursor.last_event_time
    return windows[-1].last_end(newest) if windows and newest and audit.cursor.state.open else None


def waits(topic: SourceState, end: Positions) -> dict[int, int]:
    """Partition -> how many offsets are left to read.

    A run may have read past the end that a partition had when it began: that takes nothing from
    what is left in another. Of a partition that no batch has read, all that retention has left
    waits.

    >>> first, latest = Positions({0: 0, 1: 0, 2: 40}), Positions({0: 10, 1: 20, 2: 45})
    >>> waits(SourceState("id", first, latest), Positions({0: 13, 1: 16}))
    {0: 0, 1: 4, 2: 5}
    """
    return (topic.begins | end).counts(topic.latest)
