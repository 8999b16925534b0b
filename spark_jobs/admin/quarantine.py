"""Quarantine: a person puts records aside on which an expression of the spec fails: those that the
last run has proposed, or others, by their places.

They are malformed from then on, for the run that reads them and for each repair, and come into
ops.quarantine as all malformed records do. `sluice replay` merges them once the spec can use them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

from spark_jobs.admin.intent import Intent, after_what_was_begun
from spark_jobs.checkpoint.identity import newest_of, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import (
    PUT_ASIDE,
    UNREAD,
    FailingRecord,
    FailingRecords,
    read_failing,
)
from spark_jobs.errors import DecisionRefused
from spark_jobs.journal.runner import leased
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics

ELEMENTS: Final = "spark_jobs.where.again:refuse_absent"
MOST: Final = 100_000
"""Records that persons name at all: the decoder's tasks have them in memory."""
SHOWN: Final = 20


def quarantine(
    spec: Pipeline, settings: Settings, named: tuple[str, ...], reason: str, by: str
) -> Intent:
    """Put records aside: `named`, each "PARTITION:OFFSET" or "PARTITION:FIRST-LAST", for this
    reason; without them, those that the last run has proposed. "PARTITION:OFFSET:ELEMENT" is one
    record of a value with many.

    Raises DecisionRefused for a place that is none, without a reason, or if the records are of a
    batch that is in the table and not accounted for: it has been classified otherwise.
    """
    paths, who = Paths(settings.root, spec), f"sluice quarantine by {by}"
    if first := after_what_was_begun(
        paths, who, lambda: quarantine(spec, settings, named, reason, by)
    ):
        return first
    before = read_failing(paths.failing)
    left = MOST - len(before.named)
    found = tuple(_named(named, spec.inputs, reason, by, left)) if named else before.proposed
    if not found:
        return Intent((f"{spec.name}: no run has proposed records",), None)
    _refuse_unaccounted(paths, spec, found)
    if named and spec.inputs.spread:
        resolve_name(ELEMENTS)(spec, settings, (each.place for each in found))

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        with leased(paths, who) as held:
            if read_failing(paths.failing) != before:
                raise DecisionRefused.overtaken(pipeline=spec.name)
            _refuse_unaccounted(paths, spec, found)
            _with(before, found, paths).put(paths.failing, held)
        return (
            f"{len(found):,} record(s) are malformed from now on: the run or repair that reads "
            "them puts them into ops.quarantine",
        )

    return Intent((*_lines(spec, found),), execute)


def _with(before: FailingRecords, found: tuple[FailingRecord, ...], paths: Paths) -> FailingRecords:
    audited = read_cursor(paths.cursor).audited
    if found == before.proposed:
        return before.with_more(found, audited)
    done = Checkpoint(paths.checkpoint).batch(audited).end if audited >= 0 else Positions()
    named = (
        each.model_copy(update={"batch": audited if done.passed(each.place) else UNREAD})
        for each in found
    )
    return before.model_copy(update={"named": (*before.named, *named)})


def _lines(spec: Pipeline, found: tuple[FailingRecord, ...]) -> Iterator[str]:
    yield f"{spec.name}: put {len(found):,} record(s) into quarantine"
    for each in islice(found, SHOWN):
        yield f"  {each.place.told(spec.inputs.shown)}"
    if len(found) > SHOWN:
        yield f"  and {len(found) - SHOWN:,} others"
    for reason, number in Counter(each.reason for each in found).most_common(5):
        yield f"  {number:,}: {reason}"


def _named(
    named: tuple[str, ...], inputs: Topics, reason: str, by: str, most: int
) -> Iterator[FailingRecord]:
    if not reason.strip():
        raise DecisionRefused.quarantine_unexplained()
    total = 0
    for each in named:
        if (range_ := inputs.range_of(each)) is None:
            one = f"{inputs[0].name}/PARTITION" if inputs.named else "PARTITION"
            raise DecisionRefused.no_place(record=each, partition=one)
        partition, first, last, element = range_
        total += last - first + 1
        if last < first:
            raise DecisionRefused.last_before_first(record=each)
        if total > most:
            raise DecisionRefused.too_many_named(named=total, most=most)
        for offset in range(first, last + 1):
            place = Place.at(partition, offset, element)
            yield FailingRecord.at(place, UNREAD, f"{PUT_ASIDE} {by}: {reason.strip()}")


def _refuse_unaccounted(paths: Paths, spec: Pipeline, found: tuple[FailingRecord, ...]) -> None:
    name, known = spec.name, read_identity(paths)
    if known is None:
        raise DecisionRefused.nothing_read(pipeline=name)
    checkpoint, made = Checkpoint(paths.checkpoint), max(newest_of(paths, known.owner(name)))
    for number in range(read_cursor(paths.cursor).audited + 1, made + 1):
        batch = checkpoint.batch(number)
        for each in found:
            if batch.has(each.place):
                raise DecisionRefused.batch_unaccounted(
                    partition=spec.inputs.shown(each.partition),
                    offset=each.offset,
                    batch=number,
                    pipeline=name,
                )
