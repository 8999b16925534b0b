"""Same key: the records among which copies of an accepted one are looked for, and what a
Deduplicate made of them.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.repair.offsets.slices import Index, clipped
from spark_jobs.values.spans import MICROSECOND, Span
from spark_jobs.values.times import EPOCH
from spark_jobs.where.copies import Copy, Keeping, Told, told
from spark_jobs.where.read import key_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from spark_jobs.source.place import Place
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.where.in_table import InTable
    from spark_jobs.where.known import Accounted, Known
    from spark_jobs.where.read import Seen

REACHES: Final = (2, 32, None)
"""How many delays before the watermark of a record's batch its copies are looked for, in turn; None
for all. A kept copy that counts is one delay before it, unless that one is a copy itself.
"""
LAST: Final = datetime.max.replace(tzinfo=UTC)


class Among(NamedTuple):
    """Where copies are looked for."""

    parts: Parts
    unread_until: int | None
    """The largest event time, in microseconds, of a copy that is not in these parts."""


def deduplicates(spec: Pipeline) -> Step | None:
    """The step by which accepted records are copies of others; None if none is."""
    return spec.entry if spec.entry and spec.entry.balance.drops_duplicates else None


def among(
    known: Known,
    spec: Pipeline,
    step: Step,
    batches: Collection[Accounted],
    reach: int | None,
) -> Among:
    """Where copies of records of these batches are."""
    last = max(each.id for each in batches)
    index = Index.read(known.paths, known.generations, known.begins, known.end(last))
    since = None if reach is None else _since(batches, step.copies_for(spec.watermark_delay), reach)
    if since is None:
        return Among({p: (within,) for p, within in index.within.items()}, None)
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for parts in (index.overlapping([Span(since, LAST)]), index.lacking):
        for partition, ranges in parts.items():
            found[partition] += clipped(ranges, index.within[partition])
    until = (since - EPOCH) // MICROSECOND
    return Among({p: tuple(sorted(ranges)) for p, ranges in found.items()}, until)


def _since(batches: Iterable[Accounted], delay: timedelta | None, reach: int) -> datetime | None:
    if delay is None:
        return None
    watermarks = [each.late_before for each in batches]
    first = min((each for each in watermarks if each is not None), default=None)
    if first is None or None in watermarks:
        return None
    try:
        return first - reach * delay
    except OverflowError:
        return None


def judged(
    known: Known,
    table: InTable,
    step: Step,
    entered: Mapping[Place, Seen],
    asked: Collection[Place],
    unsure: Collection[Place],
    unread_until: int | None,
) -> dict[Place, Told]:
    """Of the asked ones. `entered`: they and their copies, as far as they were read; `unsure`: of
    them those that their batch may have rejected or left out.
    """
    spec, batch_of = table.spec, known.of(entered)
    first = next(iter(entered.values()), None)
    keys = tuple(step.state_key(tuple(first.row)) or ()) if first else ()
    by_key: dict[str, dict[Place, Seen]] = defaultdict(dict)
    for place, seen in entered.items():
        if place in batch_of:
            by_key[key_of(seen.row, keys)][place] = seen
    delay = step.copies_for(spec.watermark_delay)
    late_before = {
        each.id: (each.late_before - EPOCH) // MICROSECOND
        for each in known.batches
        if each.late_before is not None
    }
    found: dict[Place, Told] = {}
    for copies in by_key.values():
        if not copies.keys() & {*asked}:
            continue
        keeping = Keeping(
            None if delay is None else delay // MICROSECOND,
            late_before,
            _wrote(table, keys, copies, batch_of),
        )
        of = (
            Copy(place, batch_of[place].id, _at(spec, seen), place not in unsure)
            for place, seen in copies.items()
        )
        found |= told(of, keeping, unread_until)
    return {place: found[place] for place in asked if place in found}


def _wrote(
    table: InTable,
    keys: tuple[str, ...],
    copies: Mapping[Place, Seen],
    batch_of: Mapping[Place, Accounted],
) -> dict[int, frozenset[Place] | None]:
    by_batch: dict[int, dict[Place, Seen]] = defaultdict(dict)
    versions: dict[int, int | None] = {}
    for place, seen in copies.items():
        batch = batch_of[place]
        by_batch[batch.id][place] = seen
        versions[batch.id] = batch.table_version
    return {number: table.wrote(versions[number], keys, here) for number, here in by_batch.items()}


def _at(spec: Pipeline, seen: Seen) -> int:
    at = seen.row[spec.inputs.event_time]
    assert isinstance(at, int)
    return at
