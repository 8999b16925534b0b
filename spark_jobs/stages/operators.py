"""Operators: what each stateful operator did in one batch, as Spark reports it and as ops.batches and the log have it."""

from __future__ import annotations

from typing import Any

from spark_jobs.contract.metrics import CUSTOM, REPORTED
from spark_jobs.contract.spec import Pipeline
from spark_jobs.stages.progress import Progress
from spark_jobs.stateful.chain import passed


def used(spec: Pipeline, progress: Progress, fired: dict[int, int]) -> list[dict[str, Any]]:
    """One row an operator that reported, from the source to the sink: step, kind, operatorName and COUNTS."""
    found, operators, rows = [], iter(progress.operators), progress.counted("entered", "rows")
    for index, step in enumerate(spec.steps[spec.first_stateful :], spec.first_stateful):
        out = progress.counted(passed(index), "rows")
        operator = next(operators, None) if step.stateful else None
        if operator:
            custom = operator.get("customMetrics", {})
            found.append(
                {"step": index, "kind": step.kind, "operatorName": operator["operatorName"], "rows_in": rows, "rows_out": out,
                 "timers_fired": fired.get(index)}
                | {name: operator[name] for name in REPORTED} | {name: custom.get(name) for name in CUSTOM}
            )
        rows = out
    return found


def in_words(operator: dict[str, Any]) -> str:
    """What an operator did, in one line."""
    seconds = sum(operator[name] for name in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")) / 1000
    groups = "groups" if operator["kind"] == "aggregate" else "rows"
    did = [
        f"{operator['rows_in']:,} rows in, {operator['rows_out']:,} out",
        f"{operator['numRowsUpdated']:,} kept in state, {operator['numRowsRemoved']:,} let go",
        _if_any(operator["numDroppedDuplicateRows"], "duplicates dropped"),
        _if_any(operator["numRowsDroppedByWatermark"], f"{groups} late"),
        _if_any(operator["numRegisteredTimers"], "timers set"),
        _if_any(operator["timers_fired"], "timers fired"),
        _if_any(operator["numValuesRemovedDueToTTLExpiry"], "values past their TTL"),
        f"{operator['numRowsTotal']:,} {groups} in {operator['numShufflePartitions']} partitions, "
        f"{stored_bytes(operator) / 1e6:,.1f} MB",
        f"{seconds:.1f} s of state work in all tasks",
    ]
    return f"step {operator['step'] + 1}, {operator['kind']}: {'; '.join(filter(None, did))}"


def stored_bytes(operator: dict[str, Any]) -> int:
    """What an operator's state takes: memory, and RocksDB's files."""
    files = operator.get("customMetrics", operator).get("rocksdbSstFileSize") or 0
    return int(operator["memoryUsedBytes"]) + int(files)


def timers_waiting(progress: Progress) -> int | None:
    """Timers that are set and have not fired; None where a TTL or a list shares RocksDB's internal column families with them.

    A timer is there twice, by key and by time (TimerStateImpl); a list has a counter there for each key (ListStateImpl).
    """
    customs = [operator.get("customMetrics", {}) for operator in progress.operators]
    hiding = [value for custom in customs for name, value in custom.items() if "WithTTLVars" in name or "ListState" in name]
    if any(hiding):
        return None
    return sum(int(custom.get("rocksdbNumInternalColFamiliesKeys") or 0) for custom in customs) // 2


def _if_any(count: int | None, what: str) -> str:
    return f"{count:,} {what}" if count else ""
