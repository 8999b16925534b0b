"""Operator metrics: each stateful operator in one batch, as Spark reports it."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.ops.operator_metrics import CUSTOM
from spark_jobs.spec import Pipeline
from spark_jobs.spec.steps.step import Step
from spark_jobs.steps.capture import ENTERED_SEEN
from spark_jobs.steps.chain import observation_name


class OperatorMetrics(NamedTuple):
    """One operator in one batch."""

    number: int
    """The index of its step in the spec, from 0."""
    step: Step
    rows_in: int
    rows_out: int
    timers_fired: int | None
    """None if the step counts no timers."""
    progress: OperatorProgress

    def custom(self, name: str) -> int | None:
        """A metric of ops/operator_metrics.py CUSTOM; None if neither the operator nor its
        store reports it.
        """
        return self.progress.custom.get(name)

    def row(self) -> dict[str, int | str | None]:
        """Its struct in the column `operators` of ops.batches."""
        where: dict[str, int | str | None] = {
            "step": self.number,
            "kind": self.step.kind,
            "operatorName": self.progress.name,
        }
        rows = {
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "timers_fired": self.timers_fired,
        }
        return {
            **where,
            **rows,
            **self.progress.reported,
            **{name: self.custom(name) for name in CUSTOM},
        }

    def __str__(self) -> str:
        """One line for the log. Counts of 0 are left out."""
        reported = self.progress.reported
        groups = self.step.balance.counted_in
        seconds = (
            reported["allUpdatesTimeMs"] + reported["allRemovalsTimeMs"] + reported["commitTimeMs"]
        ) / 1000
        parts = [
            f"{self.rows_in:,} rows in, {self.rows_out:,} out",
            f"{reported['numRowsUpdated']:,} written to state, {reported['numRowsRemoved']:,} "
            "removed",
            _if_any(self.custom("numDroppedDuplicateRows"), "duplicates dropped"),
            _if_any(reported["numRowsDroppedByWatermark"], f"{groups} late"),
            _if_any(self.custom("numRegisteredTimers"), "timers set"),
            _if_any(self.timers_fired, "timers fired"),
            _if_any(self.custom("numValuesRemovedDueToTTLExpiry"), "values past their TTL"),
            f"{self._total()} in {reported['numShufflePartitions']} partitions, "
            f"{self.progress.stored_bytes / 1e6:,.1f} MB",
            f"{seconds:.1f} s of state work in all tasks",
        ]
        return f"step {self.number + 1}, {self.step.kind}: {'; '.join(filter(None, parts))}"

    def _total(self) -> str:
        total = self.progress.reported.get("numRowsTotal")
        if total is None:
            return "as many keys as before"
        if self.step.bucketed:
            return f"{total:,} keys in {self.step.bucketed.buckets:,} buckets"
        return f"{total:,} {self.step.balance.counted_in}"


def operator_metrics(
    spec: Pipeline, progress: Progress, fired: dict[int, int]
) -> list[OperatorMetrics]:
    """The operators that reported, from the source to the sink.

    `fired`: step index -> timers that fired in the batch.
    """
    metrics = []
    steps = spec.steps[spec.first_stateful :]
    rows = progress.counted(ENTERED_SEEN, "rows")
    each = zip(steps, progress.by_step(steps), strict=True)
    for number, (step, operator) in enumerate(each, spec.first_stateful):
        out = progress.counted(observation_name(number), "rows")
        if operator:
            metrics.append(OperatorMetrics(number, step, rows, out, fired.get(number), operator))
        rows = out
    return metrics


def timers_waiting(progress: Progress) -> int | None:
    """Timers that are set and have not fired; None if a TTL or a list shares RocksDB's internal
    column families with them.

    Each timer has two entries there, by key and by time (TimerStateImpl). A list has a counter for
    each key (ListStateImpl).
    """
    customs = [operator.custom for operator in progress.operators]
    hiding = [
        value
        for custom in customs
        for name, value in custom.items()
        if "WithTTLVars" in name or "ListState" in name
    ]
    if any(hiding):
        return None
    return sum(int(custom.get("rocksdbNumInternalColFamiliesKeys") or 0) for custom in customs) // 2


def _if_any(count: int | None, what: str) -> str:
    return f"{count:,} {what}" if count else ""
