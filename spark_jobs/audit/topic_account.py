"""Topic account: with several topics, each has an account of a batch too. balance.py has the sum's.

offsets   the checkpoint's offset log, a line a topic
read      what each topic's source gave
observed  what Spark counted behind the decoder of each topic
records   the rejected records as they were captured, or all records as they were read again
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.ops.terms import NEWEST
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.classify import QUARANTINED, Outcome
from spark_jobs.values.numbering import input_of
from spark_jobs.values.spans import EPOCH, MICROSECOND
from spark_jobs.values.times import at_micros

if TYPE_CHECKING:
    from spark_jobs.audit.progress import OfTopic, Progress

Counts = Mapping[int, Mapping[str, int]]
"""Number of a topic -> its records by their outcome, and `read` if Kafka was read again."""


class TopicAccount(NamedTuple):
    """One topic's share of a batch."""

    counts: dict[str, int]
    """covered = read + gaps; read = malformed + premature + filtered + late + accepted."""
    unaccounted: int
    """The sum of the differences between two sources."""
    newest: datetime | None
    """The largest event time of what entered the first stateful step."""

    @property
    def told(self) -> dict[str, int]:
        """As ops.batches has it."""
        newest = {} if self.newest is None else {NEWEST: (self.newest - EPOCH) // MICROSECOND}
        return self.counts | {"unaccounted": self.unaccounted} | newest


def by_topic(
    inputs: Topics, batch: Batch, progress: Progress | None, records: Counts | None
) -> dict[str, TopicAccount]:
    """Name -> account; nothing where the pipeline has one topic. `records`: None if they were not
    counted, or if some of them are gone.
    """
    if not inputs.several:
        return {}
    covered: Counter[int] = Counter()
    for partition, offsets in batch.start.counts(batch.end).items():
        covered[input_of(partition)] += offsets
    found = {}
    for number, each in enumerate(inputs):
        seen = progress.topics[number] if progress and number < len(progress.topics) else None
        of = None if records is None else records.get(number, {})
        if seen is None:
            found[each.name] = _again(covered[number], of or {})
        else:
            found[each.name] = _observed(covered[number], seen, of)
    return found


def _observed(covered: int, seen: OfTopic, records: Mapping[str, int] | None) -> TopicAccount:
    malformed, premature, good = (
        int(seen.classified.get(outcome) or 0)
        for outcome in (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.GOOD)
    )
    entered = int(seen.entered.get("rows") or 0)
    late = records.get(Outcome.LATE, 0) if records else 0
    differences = [
        seen.read - malformed - premature - good,
        max(seen.read - covered, 0),
        min(good - entered, 0),
        min(entered - late, 0),
    ]
    if records is not None:
        stored = sum(records.get(outcome, 0) for outcome in QUARANTINED)
        differences.append(malformed + premature - stored)
        differences.append(seen.read - records.get("read", seen.read))
    counts = {
        "covered": covered,
        "read": seen.read,
        "gaps": covered - seen.read,
        "malformed": malformed,
        "premature": premature,
        "filtered": good - entered,
        "late": late,
        "accepted": entered - late,
    }
    return TopicAccount(counts, sum(map(abs, differences)), at_micros(seen.newest_us))


def _again(covered: int, records: Mapping[str, int]) -> TopicAccount:
    """The batch's progress was lost: Kafka alone tells."""
    read = records.get("read", 0)
    outcomes = (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.LATE, Outcome.ACCEPTED)
    by = {outcome.value: records.get(outcome, 0) for outcome in outcomes}
    counts = {"covered": covered, "read": read, "gaps": covered - read, **by}
    counts["filtered"] = read - sum(by.values())
    negative = sum(-count for count in counts.values() if count < 0)
    return TopicAccount(counts, negative, at_micros(records.get("last_event_us")))
