"""Told: what an excision changes in a pipeline, for a person to see before it is done; and what the
command does then.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.excised import Places
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.errors import SluiceError
from spark_jobs.excise.adopt import around, made
from spark_jobs.excise.look import look
from spark_jobs.excise.note import end, excisions, ids_of, keep
from spark_jobs.repair.find.rows_of_keys import WHOLE
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.spec.analysis.looked_up import LookedUp
from spark_jobs.storage.object_store import require_writable
from spark_jobs.values.spans import FIRST, Span, in_brief, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from spark_jobs.excise.look import Reader, Say
    from spark_jobs.excise.note import Excision
    from spark_jobs.spec import Pipeline


def noted(
    readers: Sequence[Reader], specs: Sequence[Pipeline], wanted: Excision, most_records: int,
    say: Say, *, execute: bool,
) -> bool:  # fmt: skip
    """Tell the pipelines of a root what there is to do: for the records that are `wanted`, which
    are noted if `execute`; without a condition, for all that is noted. Whether there is something.
    Raises as `look`.
    """
    root, place = readers[0].paths.root, wanted.topic
    shown, new = excisions(root, place), None
    for each in shown:
        say(f"excision {each.id}: {each.records:,} records of {place}: {each.reason}")
    if wanted.where:
        new = look(readers, wanted, most_records, say)
        shown = [new] if new else []
    elif not shown:
        say(f"{place}: no excision is noted")
    for excision, reader in product(shown, readers):
        try:
            for line in effect(reader, excision):
                say(line)
        except SluiceError as error:  # it keeps no other from it
            say(f"{reader.name}: {error}")
    if shown and (more := following({each.spec.name for each in readers}, specs)):
        say(f"{', '.join(more)}: their next drains note what changes above, for `sluice repair`")
    if new and execute:
        require_writable(readers[0].paths)
        keep(root, new)
        say(f"noted: excision {new.id}")
    return bool(shown)


def lifted(readers: Sequence[Reader], lift: Excision, say: Say, *, execute: bool) -> bool:
    """Let this excision end if `execute`. Whether the root has it."""
    root, place = readers[0].paths.root, lift.topic
    taken = (each.id for of in readers for each in read_failing(of.paths.failing).excised)
    if lift.id not in ids_of(root, place) and lift.id not in taken:
        return False
    names = ", ".join(each.name for each in readers)
    say(f"{names}: refuse the records of excision {lift.id} no more")
    if execute:
        end(root, place, lift.id, lift.who)
        say("`sluice replay --reason` brings in what ops.quarantine has, a backfill the others")
    return True


def effect(reader: Reader, excision: Excision) -> Iterator[str]:
    """Of an excision that the pipeline's checkpoint may not have taken over yet."""
    name, spec = reader.name, reader.spec
    if not any(map(excision.fits, spec.inputs)):
        yield f"{name}: it does not take values apart by {excision.each}, and keeps them"
        return
    if (known := read_identity(reader.paths)) is None:
        yield f"{name}: no run yet; its first one leaves them out"
        return
    texts, times = excision.within(spec, known.topic_id)
    if not (places := Places.told(texts)):
        yield f"{name}: its checkpoint is of another topic with this name"
        return
    last = made(reader.paths, known)
    passed = places.passed(last.end) if last else 0
    yield f"{name}: {passed:,} in its batches, {len(places) - passed:,} to come"
    if last and passed:
        yield from _rows(spec, times, last.watermark)
        yield from dict.fromkeys(_state(spec, times))


def following(names: Collection[str], specs: Sequence[Pipeline]) -> list[str]:
    """The pipelines that read the table of one of these, or of one that does."""
    found = {*names}
    for _ in specs:
        found |= {of.name for of in specs if found & {side.pipeline for side in of.sides}}
    return sorted(found - {*names})


def _rows(spec: Pipeline, times: Sequence[Span], watermark: datetime | None) -> Iterator[str]:
    if why := (unit := unit_of(spec)).unranged:
        yield f"  stay            in its rows, since {why}: `sluice rebuild` leaves them out"
    elif spec.keyed:
        yield "  computed again  their keys, from all records of these"
    else:
        until = (way := unit.way).closed_until(watermark) or FIRST
        of_records = LookedUp(spec, 0, {})
        touched = joined(of_records.touched(each, WHOLE) for each in around(spec, times))
        parts = joined(each.within(Span(FIRST, until)) for each in touched)
        if final := [each for each in parts if not way.needed(each).empty]:  # a row ends there
            yield f"  computed again  {in_brief(final)}"
        if left := joined(each.within(Span(until, WHOLE.end)) for each in touched):
            yield f"  waiting         {in_brief(left)}: drains still write; then `sluice repair`"


def _state(spec: Pipeline, times: Sequence[Span]) -> Iterator[str]:
    """Which steps go on as if they had seen good records."""
    last = max((each.end for each in times), default=FIRST)
    for number, step in enumerate(spec.steps, 1):
        named = f"  state           step {number}, {type(step).__name__},"
        for each in step.dropping:
            delay, until = each.copies_for(spec.watermark_delay), "for ever"
            if delay is not None:
                until = f"until the watermark is past {last + delay:%F %H:%M:%S}"
            yield f"{named} knows their keys {until}: a corrected copy needs a backfill of its day"
        if step.by_code:
            yield f"{named} has what its code made of them, until that forgets it"
