"""What each stateful operator did in one batch: as Spark reports it, as ops.batches has it, and as the log tells it."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.audit.progress import OperatorProgress, Progress
from spark_jobs.classify.capture import ENTERED
from spark_jobs.contract.metrics import CUSTOM
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Stateful
from spark_jobs.steps.chain import observation_name


class OperatorMetrics(NamedTuple):
    """One operator in one batch."""

    number: int
    """The place of its step in the spec, from 0."""
    step: Stateful
    rows_in: int
    rows_out: int
    timers_fired: int | None
    """None where the step counts no timers."""
    progress: OperatorProgress

    def custom(self, name: str) -> int | None:
        """A metric of contract/metrics.py CUSTOM; None where the operator or its store has none of that name."""
        return self.progress.custom.get(name)

    def row(self) -> dict[str, int | str | None]:
        """As an entry of ops.batches' operators."""
        where = {"step": self.number, "kind": self.step.kind, "operatorName": self.progress.name}
        passed_it = {"rows_in": self.rows_in, "rows_out": self.rows_out, "timers_fired": self.timers_fired}
        return {**where, **passed_it, **self.progress.reported, **{name: self.custom(name) for name in CUSTOM}}

    def __str__(self) -> str:
        """In one line, without what it did not do."""
        it, groups = self.progress.reported, self.step.balance.counted_in
        seconds = (it["allUpdatesTimeMs"] + it["allRemovalsTimeMs"] + it["commitTimeMs"]) / 1000
        did = [
            f"{self.rows_in:,} rows in, {self.rows_out:,} out",
            f"{it['numRowsUpdated']:,} kept in state, {it['numRowsRemoved']:,} let go",
            _if_any(self.custom("numDroppedDuplicateRows"), "duplicates dropped"),
            _if_any(it["numRowsDroppedByWatermark"], f"{groups} late"),
            _if_any(self.custom("numRegisteredTimers"), "timers set"),
            _if_any(self.timers_fired, "timers fired"),
            _if_any(self.custom("numValuesRemovedDueToTTLExpiry"), "values past their TTL"),
            f"{it['numRowsTotal']:,} {groups} in {it['numShufflePartitions']} partitions, "
            f"{self.progress.stored_bytes / 1e6:,.1f} MB",
            f"{seconds:.1f} s of state work in all tasks",
        ]
        return f"step {self.number + 1}, {self.step.kind}: {'; '.join(filter(None, did))}"


def operator_metrics(spec: Pipeline, progress: Progress, fired: dict[int, int]) -> list[OperatorMetrics]:
    """One an operator that reported, from the source to the sink. `fired` has the timers that fired, by step."""
    found, operators, rows = [], iter(progress.operators), progress.counted(ENTERED, "rows")
    for number, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        out = progress.counted(observation_name(number), "rows")
        if step.stateful and (operator := next(operators, None)):
            found.append(OperatorMetrics(number, step, rows, out, fired.get(number), operator))
        rows = out
    return found


def timers_waiting(progress: Progress) -> int | None:
    """Timers that are set and have not fired; None where a TTL or a list shares RocksDB's internal column families with them.

    A timer is there twice, by key and by time (TimerStateImpl); a list has a counter there for each key (ListStateImpl).
    """
    customs = [operator.custom for operator in progress.operators]
    hiding = [value for custom in customs for name, value in custom.items() if "WithTTLVars" in name or "ListState" in name]
    if any(hiding):
        return None
    return sum(int(custom.get("rocksdbNumInternalColFamiliesKeys") or 0) for custom in customs) // 2


def _if_any(count: int | None, what: str) -> str:
    return f"{count:,} {what}" if count else ""
