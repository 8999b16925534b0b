"""Balance: the account of one batch, from counts of independent sources that must agree.

offsets   the checkpoint's offset log
state     the stateful operators' metrics
records   the rejected records as they were captured; all records, if Kafka was read again
observed  what Spark counted while the batch ran (df.observe)
written   Delta's history of the table
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from spark_jobs.audit.batch_offsets import tell_apart
from spark_jobs.audit.progress import Progress
from spark_jobs.audit.record_counts import OfValues, RecordCounts
from spark_jobs.messages.offset_account import Account
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spec import Pipeline
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.steps import chain
from spark_jobs.steps.capture import CLASSIFIED_SEEN, ENTERED_SEEN
from spark_jobs.steps.classify import Outcome

if TYPE_CHECKING:
    from spark_jobs.audit.keyed_account import Keyed

MANY: Final = 2**62


def balance(
    spec: Pipeline,
    batch: Batch,
    progress: Progress | None,
    records: RecordCounts | None,
    rows_out: int,
    keyed: Keyed | None = None,
) -> Account:
    """The batch's account. `keyed`: what its commit says, of a table that follows a key.

    `unaccounted` is the sum of all differences between two sources; 0 means that all agree, None
    that no two sources can tell.
    """
    if keyed:
        rows_out = keyed.fates.all  # each change that the sink got has a fate
    if progress is None:
        account = _by_reading(spec, batch, records, rows_out)
    else:
        account = _by_progress(spec, batch, progress, records, rows_out)
    return keyed.told(account) if keyed else account


def _by_progress(
    spec: Pipeline, batch: Batch, progress: Progress, records: RecordCounts | None, rows_out: int
) -> Account:
    malformed, premature, good = (
        progress.counted(CLASSIFIED_SEEN, outcome)
        for outcome in (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.GOOD)
    )
    entered = progress.counted(ENTERED_SEEN, "rows")
    of_values = OfValues.of(spec, progress)
    removed = records.removed(progress.read, batch.covered) if records else 0
    stored = records.late if records else 0
    dropped = _late_by_spark(spec, progress, stored)
    # Spark may have dropped more than are stored: what Kafka has removed since may be late too.
    late = stored + min(max(dropped - stored, 0), removed)
    filtered = good - entered
    left = [
        progress.counted(chain.observation_name(index), "rows")
        for index in range(spec.first_stateful, len(spec.steps))
    ]
    duplicates, unexplained = _duplicates(spec, progress, [entered - late, *left])
    differences = [
        progress.read - of_values.values(progress.read),
        of_values.records(progress.read) - malformed - premature - good,
        min(filtered, 0),  # a Transform that made several records of one
        unexplained,
        _written(spec, (left or [entered])[-1], rows_out) - rows_out,
    ]
    rejected = [dropped - stored]
    reread = list[int]()
    if records:
        rejected += [malformed - records.malformed, premature - records.premature]
        reread.append(progress.read - records.read)
        reread += [filtered - records.filtered] if records.reread else []
        reread += [progress.rules.get(name, 0) - again for name, again in records.rules.items()]
    else:
        differences.append(batch.covered - progress.read)
    # Nobody knows how many records the values had that Kafka has removed.
    excused = MANY if removed and spec.inputs.spread else removed
    unknown = min(sum(max(difference, 0) for difference in rejected), removed)
    return Account(
        covered=batch.covered,
        **_gaps(batch.covered - progress.read, records, before=removed),
        unknown=unknown,
        read=progress.read,
        **of_values.told,
        undated=progress.counted(CLASSIFIED_SEEN, "undated"),
        malformed=malformed,
        premature=premature,
        unkept=records.unkept if records else 0,
        filtered=filtered,
        late=late,
        accepted=entered - late,
        duplicates=duplicates,
        rows_out=rows_out,
        unaccounted=sum(map(abs, differences))
        + sum(_beyond(difference, excused) for difference in reread + rejected),
    )


def _by_reading(spec: Pipeline, batch: Batch, found: RecordCounts | None, rows_out: int) -> Account:
    """Of a batch whose progress is lost, or counts a stage twice: compares Kafka and the table."""
    records = found or RecordCounts()
    excess = _more_or_less(spec, records, rows_out)
    removed = records.removed(records.read + max(excess, records.gone), batch.covered)
    unknown = max(records.gone, min(excess, removed))
    mismatches = abs(min(records.filtered, 0)) + _beyond(excess, removed)
    mismatches += abs(records.read - records.of_values.values(records.read))
    proved = mismatches or rows_are_compared(spec)
    return Account(
        covered=batch.covered,
        **_gaps(batch.covered - records.read - unknown, records, before=unknown),
        unknown=unknown,
        read=records.read,
        **records.of_values.told,
        undated=records.undated,
        malformed=records.malformed,
        premature=records.premature,
        unkept=records.unkept,
        filtered=records.filtered,
        late=records.late,
        accepted=records.accepted,
        duplicates=_duplicates_again(spec, found),
        rows_out=rows_out,
        unaccounted=mismatches if proved else None,
    )


def _gaps(gaps: int, records: RecordCounts | None, before: int) -> dict[str, int]:
    """`before`: offsets that are gone now and were no gaps."""
    if records is None:
        return {"gaps": gaps}
    told = tell_apart(
        gaps, records.aborted, max(records.gone - before, 0), compacted=records.compacted
    )
    return {"gaps": gaps, **told._asdict()}


def _beyond(difference: int, removed: int) -> int:
    """A difference to the second reading, without the records that Kafka removed before it."""
    return max(difference - removed, 0) if difference > 0 else -difference


def rows_are_compared(spec: Pipeline) -> bool:
    """Whether the records of a batch that is read again say how many rows it may have written.

    The rows of an Aggregate or a GroupState come from state, and other SQL's rows from the SQL.
    """
    return all(step.balance.only_fewer for step in spec.steps[spec.first_stateful :])


def _more_or_less(spec: Pipeline, records: RecordCounts, rows_out: int) -> int:
    """0 where rows are not compared. A Deduplicate writes one for each fresh key, or at most one
    for each record if these are not known.
    """
    steps = spec.steps[spec.first_stateful :]
    if not steps or spec.keyed:
        return rows_out - records.accepted
    if not rows_are_compared(spec):
        return 0
    if records.fresh is None:
        return max(rows_out - records.accepted, 0)
    return rows_out - records.fresh if len(steps) == 1 else max(rows_out - records.fresh, 0)


def _duplicates_again(spec: Pipeline, records: RecordCounts | None) -> int | None:
    drop = sum(step.balance.drops_duplicates for step in spec.steps)
    if any(step.operators > 1 for step in spec.steps) and records is not None:
        return None
    if not drop or records is None:
        return 0
    return records.accepted - records.fresh if records.fresh is not None and drop == 1 else None


def _late_by_spark(spec: Pipeline, progress: Progress, late: int) -> int:
    """A step that counts groups shows only whether there were any."""
    dropped = progress.dropped
    if spec.entry and spec.entry.balance.counted_in == "groups":
        return late if bool(dropped) == bool(late) else dropped
    return dropped


def _duplicates(spec: Pipeline, progress: Progress, rows: list[int]) -> tuple[int, int]:
    """Spark's count of duplicates, summed over the steps that drop them; and the rows that neither
    it nor rows out explain.

    `rows`: how many entered the first stateful step, then how many left it and each step after it.
    """
    duplicates = unexplained = 0
    steps = spec.steps[spec.first_stateful :]
    for step, operator, both in zip(steps, progress.by_step(steps), pairwise(rows), strict=True):
        if operator is None or not (step.balance.drops_duplicates or step.balance.inside):
            continue
        into, out = both
        if step.balance.inside:  # it is the first one
            into = progress.counted(ENTERED_SEEN, "rows") - operator.dropped_before
            out = sum(progress.counted(name, "rows") for name in step.balance.inside)
        duplicates += operator.duplicates
        unexplained += abs(into - operator.duplicates - out)
    return duplicates, unexplained


def _written(spec: Pipeline, yielded: int, rows_out: int) -> int:
    """In update mode, only the last of several rows with one key is written."""
    several = (
        any(step.balance.several_per_key for step in spec.steps[-1:])
        and mode_facts(spec.output_mode).writes_last_of_key
    )
    return min(yielded, rows_out) if several and bool(rows_out) == bool(yielded) else yielded
