"""The account of one batch: counts from sources that do not know of each other, held against each other.

offsets  the checkpoint's offset log          observed  what Spark counted while the batch ran (df.observe)
state    the stateful operators' metrics      written   Delta's history of the table
found    the bad and late records, as they were kept or read again from Kafka
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from spark_jobs.checkpoint import Batch
from spark_jobs.contract.report import Account
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate, GroupState, Transform
from spark_jobs.stages.progress import Progress
from spark_jobs.stateful import chain


class Found(NamedTuple):
    """What is known of a batch's records by fate: from Kafka, where it was read again, else of those that were kept alone."""

    read: int = 0
    malformed: int = 0
    premature: int = 0
    late: int = 0
    entered: int = 0
    first_event_us: int | None = None
    last_event_us: int | None = None
    reread: bool = True

    @property
    def filtered(self) -> int:
        """Left out by a Transform: what is left, where the batch was read again."""
        return self.read - self.malformed - self.premature - self.late - self.entered


def balance(spec: Pipeline, batch: Batch, progress: Progress | None, found: Found | None, rows_out: int) -> Account:
    """The batch's account. `unaccounted` sums every disagreement between two sources, so 0 means that all agree."""
    if progress is None:
        return _by_reading(spec, batch, found or Found(), rows_out)
    return _by_progress(spec, batch, progress, found, rows_out)


def _by_progress(spec: Pipeline, batch: Batch, progress: Progress, found: Found | None, rows_out: int) -> Account:
    malformed, premature, good = (progress.counted("fate", fate) for fate in ("malformed", "premature", "good"))
    entered, late = progress.counted("entered", "rows"), found.late if found else 0
    filtered = good - entered
    passed = [progress.counted(chain.passed(index), "rows") for index in range(spec.first_stateful, len(spec.steps))]
    duplicates, unexplained = _duplicates(spec, progress, [entered - late, *passed])
    differences = [
        batch.covered - progress.read - (batch.covered - found.read if found else 0),
        progress.read - malformed - premature - good,
        min(filtered, 0),  # a Transform that made several records of one
        _late_by_spark(spec, progress, late) - late,
        unexplained,
        _written(spec, (passed or [entered])[-1], rows_out) - rows_out,
    ]
    if found:
        differences += [malformed - found.malformed, premature - found.premature]
        differences += [filtered - found.filtered] if found.reread else []
    return Account(
        covered=batch.covered, gaps=batch.covered - progress.read, read=progress.read, malformed=malformed, premature=premature,
        filtered=filtered, late=late, accepted=entered - late, duplicates=duplicates, rows_out=rows_out,
        unaccounted=sum(map(abs, differences)),
    )


def _by_reading(spec: Pipeline, batch: Batch, found: Found, rows_out: int) -> Account:
    """Of a batch whose progress was lost in a crash, or has counts of what ran twice: Kafka is held against the table alone."""
    return Account(
        covered=batch.covered, gaps=batch.covered - found.read, read=found.read, malformed=found.malformed,
        premature=found.premature, filtered=found.filtered, late=found.late, accepted=found.entered,
        duplicates=found.entered - rows_out if isinstance(spec.steps[-1], Deduplicate) else 0, rows_out=rows_out,
        unaccounted=abs(min(found.filtered, 0)) + abs(_more_or_less(spec, found.entered, rows_out)),
    )


def _more_or_less(spec: Pipeline, entered: int, rows_out: int) -> int:
    """Rows of the table that the records cannot have given. Without state there are as many; a Deduplicate gives no more.

    What other steps give comes from state, or from SQL: of that nothing is known here.
    """
    steps = spec.steps[spec.first_stateful :]
    if not steps:
        return rows_out - entered
    only_fewer = all(isinstance(step, Deduplicate) or (isinstance(step, Transform) and step.where) for step in steps)
    return max(rows_out - entered, 0) if only_fewer else 0


def _late_by_spark(spec: Pipeline, progress: Progress, found: int) -> int:
    """Rows that the first stateful step dropped, by its own count. An aggregation counts groups: then only whether any."""
    dropped = progress.dropped
    if spec.first_stateful < len(spec.steps) and isinstance(spec.steps[spec.first_stateful], Aggregate):
        return found if bool(dropped) == bool(found) else dropped
    return dropped


def _duplicates(spec: Pipeline, progress: Progress, rows: list[int]) -> tuple[int, int]:
    """Duplicates of all Deduplicates by Spark's own count, and what of their rows neither they nor the rows that left explain.

    `rows` are those that entered the first stateful step, and those that left it and each after it.
    """
    found, unexplained, operators = 0, 0, iter(progress.operators)
    for step, (into, out) in zip(spec.steps[spec.first_stateful :], pairwise(rows), strict=True):
        operator = next(operators, None) if step.stateful else None
        if isinstance(step, Deduplicate) and operator:
            duplicates = int(operator.get("customMetrics", {}).get("numDroppedDuplicateRows", 0))
            found, unexplained = found + duplicates, unexplained + abs(into - duplicates - out)
    return found, unexplained


def _written(spec: Pipeline, yielded: int, rows_out: int) -> int:
    """Rows that the table must have taken. Of a GroupState's rows for one key in a batch, update mode writes the last."""
    superseded = spec.output_mode == "update" and isinstance(spec.steps[-1], GroupState) and bool(rows_out) == bool(yielded)
    return min(yielded, rows_out) if superseded else yielded
