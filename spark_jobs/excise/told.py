"""Told: what an excision changes in a pipeline, for a person to see before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.excised import Places
from spark_jobs.errors import SluiceError
from spark_jobs.excise.adopt import around, made
from spark_jobs.repair.find.rows_of_keys import WHOLE
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.spec.analysis.looked_up import LookedUp
from spark_jobs.values.spans import FIRST, Span, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from spark_jobs.excise.look import Reader
    from spark_jobs.excise.note import Excision
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

SHOWN = 3
"""Ranges that are named one by one."""


def told(
    readers: Sequence[Reader], excisions: Sequence[Excision], specs: Sequence[Pipeline]
) -> Iterator[str]:
    """For each pipeline of the topic, and of those among `specs` that read the table of one."""
    for excision in excisions:
        for reader in readers:
            try:
                yield from effect(reader, excision)
            except SluiceError as error:  # it keeps no other from it
                yield f"{reader.name}: {error}"
    if excisions and (more := following({each.spec.name for each in readers}, specs)):
        yield f"{', '.join(more)}: their next drains note what changes above, for `sluice repair`"


def effect(reader: Reader, excision: Excision) -> Iterator[str]:
    """Of an excision that the pipeline's checkpoint may not have taken over yet."""
    name, spec, paths = reader.name, reader.spec, reader.paths
    known = read_identity(paths)
    if not any(map(excision.fits, spec.inputs)):
        yield f"{name}: it does not take values apart by {excision.each}, and keeps them"
        return
    if known is None:
        yield f"{name}: no run yet; its first one leaves them out"
        return
    numbers = excision.numbers(spec, known.topic_id)
    if not numbers:
        yield f"{name}: its checkpoint is of another topic with this name"
        return
    _, since = made(paths, known.generation)
    places = Places.told(excision.places_in(numbers))
    coming = len(places.behind(since))
    passed = len(places) - coming
    yield f"{name}: {passed:,} in its batches, {coming:,} to come"
    if passed:
        why, times = unit_of(spec).unranged, excision.passed(spec, numbers, since)
        if why:
            yield f"  stay            in its rows, since {why}"
            yield "                  `sluice rebuild` of NEXT leaves them out"
        else:
            yield from _rows(spec, paths, times)
        yield from dict.fromkeys(_state(spec, times))


def following(names: Collection[str], specs: Sequence[Pipeline]) -> list[str]:
    """The pipelines that read the table of one of these, or of one that does."""
    found = {*names}
    for _ in specs:
        found |= {of.name for of in specs if found & {side.pipeline for side in of.sides}}
    return sorted(found - {*names})


def _rows(spec: Pipeline, paths: Paths, times: Sequence[Span]) -> Iterator[str]:
    if spec.keyed:
        yield "  computed again  their keys, from all records of these"
        return
    checkpoint = Checkpoint(paths.checkpoint)
    batch = checkpoint.batch(max(checkpoint.committed(), default=0))
    way = unit_of(spec).way
    until = way.closed_until(batch.watermark) or FIRST
    of_records = LookedUp(spec, 0, {})
    touched = joined(of_records.touched(each, WHOLE) for each in around(spec, times))
    parts = joined(each.within(Span(FIRST, until)) for each in touched)
    if final := [each for each in parts if not way.needed(each).empty]:  # a row ends there
        yield f"  computed again  {_shown(final)}"
    if left := joined(each.within(Span(until, WHOLE.end)) for each in touched):
        yield f"  waiting         {_shown(left)}: drains still write these rows. Behind them"
        yield "                  the same command, or `sluice repair`, takes the records out"


def _state(spec: Pipeline, times: Sequence[Span]) -> Iterator[str]:
    """Which steps go on as if they had seen good records."""
    last = max((each.end for each in times), default=FIRST)
    for number, step in enumerate(spec.steps, 1):
        named = f"step {number}, {type(step).__name__},"
        for each in step.dropping:
            delay = each.copies_for(spec.watermark_delay)
            until = "for ever"
            if delay is not None:
                until = f"until the watermark is past {last + delay:%F %H:%M:%S}"
            yield f"  state           {named} knows their keys {until}: it drops a corrected copy"
            yield "                  before; a backfill of its day brings such a copy in"
        if step.by_code:
            yield f"  state           {named} has what its code made of them, until that forgets it"


def _shown(spans: Sequence[Span]) -> str:
    more = f"; and {len(spans) - SHOWN} more" if len(spans) > SHOWN else ""
    return "; ".join(map(str, spans[:SHOWN])) + more
