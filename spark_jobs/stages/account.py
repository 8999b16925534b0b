"""The account of one batch: counts from sources that do not know of each other, held against each other.

offsets  the checkpoint's offset log          observed  what Spark counted while the batch ran (df.observe)
state    the stateful operators' metrics      written   Delta's history of the table
found    the bad records, read again from Kafka
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint import Batch
from spark_jobs.contract.report import Account
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate
from spark_jobs.stages.progress import Progress


class Found(NamedTuple):
    """What reading a batch again gave: all records it read, and counts by fate: of `whole` batches, else of the suspects."""

    read: int
    malformed: int
    premature: int
    filtered: int
    late: int
    entered: int
    first_event_us: int | None
    last_event_us: int | None
    whole: bool = True


def needs_reading(batch: Batch, progress: Progress | None) -> bool:
    """Whether the batch has records to keep (malformed, premature, late), gaps to confirm, or lost its progress in a crash."""
    if progress is None:
        return batch.covered > 0
    counted = [progress.counted("fate", fate) for fate in ("malformed", "premature")]
    dropped = sum(operator["numRowsDroppedByWatermark"] for operator in progress.operators)
    return any([*counted, dropped, batch.covered != progress.read])


def balance(spec: Pipeline, batch: Batch, progress: Progress | None, found: Found | None, rows_out: int) -> Account:
    """The batch's account. `unaccounted` sums every disagreement between two sources, so 0 means that all agree."""
    read = progress.read if progress else found.read if found else 0
    fates = {
        fate: progress.counted("fate", fate) if progress else getattr(found, fate, 0)
        for fate in ("malformed", "premature", "filtered", "entered")
    }
    late = found.late if found else 0
    entered = fates["entered"] if progress else fates["entered"] + late
    differences = [batch.covered - read - (batch.covered - found.read if found else 0)]
    differences.append(read - fates["malformed"] - fates["premature"] - fates["filtered"] - entered)
    duplicates = 0
    if progress:
        if found:
            counted = ("malformed", "premature", "filtered") if found.whole else ("malformed", "premature")
            differences += [fates[fate] - getattr(found, fate) for fate in counted]
        differences.append(_late_by_spark(spec, progress, late) - late)
        duplicates, unexplained = _duplicates(spec, progress, entered - late)
        differences.append(unexplained)
        differences.append(progress.counted(f"after_{len(spec.steps) - 1}", "rows") - rows_out)
    elif isinstance(spec.steps[-1], Deduplicate):
        duplicates = entered - late - rows_out
    return Account(
        covered=batch.covered, gaps=batch.covered - read, read=read, malformed=fates["malformed"],
        premature=fates["premature"], filtered=fates["filtered"], late=late, accepted=entered - late,
        duplicates=duplicates, rows_out=rows_out, unaccounted=sum(map(abs, differences)),
    )


def _late_by_spark(spec: Pipeline, progress: Progress, found: int) -> int:
    """Rows that the first stateful step dropped, by its own count. An aggregation counts groups: then only whether any."""
    dropped = sum(int(operator["numRowsDroppedByWatermark"]) for operator in progress.operators)
    if spec.first_stateful < len(spec.steps) and isinstance(spec.steps[spec.first_stateful], Aggregate):
        return found if bool(dropped) == bool(found) else dropped
    return dropped


def _duplicates(spec: Pipeline, progress: Progress, accepted: int) -> tuple[int, int]:
    """Duplicates by Spark's own count, and what of the accepted rows neither they nor the rows that left explain."""
    first = spec.first_stateful
    if first == len(spec.steps) or not isinstance(spec.steps[first], Deduplicate) or not progress.operators:
        return 0, 0
    duplicates = int(progress.operators[0].get("customMetrics", {}).get("numDroppedDuplicateRows", 0))
    return duplicates, accepted - duplicates - progress.counted(f"after_{first}", "rows")
