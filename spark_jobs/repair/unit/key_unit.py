"""Key unit: keys of a table that follows one. Its rows have no place in time.

A replay needs the quarantined records alone, since the table has all else that decides: it reads
neither Kafka nor an archive. Nor does a repair of outdated rows, where they have all that they were
looked up by. Given keys are computed from all records up to the newest batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.errors import RangeInvalid, RangeUnsupported, RecordsUnreachable
from spark_jobs.messages.kind import Reads
from spark_jobs.ops import ops_tables, outdated
from spark_jobs.repair.exchange.commit import Prepared
from spark_jobs.repair.exchange.put_keys import merged
from spark_jobs.repair.exchange.staging import SIDES, changed_rows
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.repair.find.plan import needs, offsets_in, places
from spark_jobs.repair.find.plan_text import key_lines
from spark_jobs.repair.find.quarantine import used_within
from spark_jobs.repair.find.standing import settled
from spark_jobs.repair.offsets.archived import (
    Where,
    archive_records,
    archived_or_why,
    beginning,
    located,
)
from spark_jobs.repair.unit.sought import Found, Sought
from spark_jobs.spec.analysis.looked_up import from_rows
from spark_jobs.spec.analysis.ranged import BY_KEY, Ranged, mended
from spark_jobs.spec.sql import names_in
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import EVER, Span

if TYPE_CHECKING:
    from spark_jobs.messages.request import Request
    from spark_jobs.repair.exchange.preconditions import Claim
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.following import Following
    from spark_jobs.storage.root.paths import Paths

NOWHERE: Final = Where({}, {}, {})


class KeyUnit:
    """As unit.py has it. All of the table is one range."""

    rows: ClassVar = "spark_jobs.repair.unit.key_rows:KeyRows"
    unranged: None = None

    def __init__(self, spec: Pipeline, step: Following) -> None:
        self._spec, self._step = spec, step

    @property
    def way(self) -> Ranged:
        return Ranged(self._spec, BY_KEY)

    def refuse(self, request: Request) -> None:
        name, step = self._spec.name, self._step
        found_by_itself = self._spec.sides or request.facts.reads is not Reads.WAITING
        if request.facts.reads not in FINDERS or request.span or not found_by_itself:
            raise RangeUnsupported.by_keys(pipeline=name, step=type(step).__name__)
        # The rows do not tell which of their fields only lost records have set.
        if request.without_lost and not step.highest_decides:
            raise RangeUnsupported.folded(pipeline=name)
        columns = {each.lower() for each in self._spec.inputs.columns}
        others = columns - {each.lower() for each in step.keys}
        if odd := sorted(names_in(request.keys) & others):
            keys = ", ".join(step.keys)
            raise RangeInvalid.keys_of_others(pipeline=name, odd=", ".join(odd), keys=keys)

    def find(self, sought: Sought) -> Found:
        return FINDERS[sought.request.facts.reads](sought)

    def around(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        return tuple(spans)

    def put_in(self, paths: Paths, claim: Claim) -> Prepared:
        going, coming = (partial(changed_rows, paths, claim.manifest, side=side) for side in SIDES)
        return merged(table_of(paths), claim, going, coming, self._step)

    def take_out(self, paths: Paths, claim: Claim) -> Prepared:
        coming, going = (
            partial(changed_rows, paths, claim.manifest, side=side, older=True) for side in SIDES
        )
        return merged(table_of(paths), claim, going, coming, self._step)


def _by_quarantined(of: Sought) -> Found:
    found, lines = of.replaying(), partial(key_lines, of.closed)
    return Found(EVER if found.records else (), EVER, {}, NOWHERE, 0, lines, replays=found)


def _by_excised(of: Sought) -> Found:
    """As given keys: which they are, the stage finds. Also raises RecordsUnreachable."""
    generations = of.closed.found.identity.generations
    marks = outdated.stored(of.paths.root, of.paths.pipeline, generations, of.excised)
    if any(not settled(of.paths, generations, each) for each in marks):
        return _as_given(of)
    return Found((), EVER, {}, NOWHERE, 0, partial(key_lines, of.closed))


def _by_waiting(of: Sought) -> Found:
    """Raises RecordsUnreachable and RangeInvalid where rows are not made again of themselves."""
    spec, closed = of.way.spec, of.closed
    own = (mended(spec), of.paths, closed.found.identity.generations, closed.batch)
    found = Outdated(*own, noted_now(closed.found.checkpoint, spec)).ranges(closed.until)
    lines = partial(key_lines, closed, changes=sum(each.changes for each in found))
    if not found:
        return Found((), EVER, {}, NOWHERE, 0, lines)
    if from_rows(spec):
        return Found(EVER, EVER, {}, NOWHERE, 0, lines, outdated=True)
    return _as_given(of)._replace(lines=lines, outdated=True)


def _as_given(of: Sought) -> Found:
    """Raises RecordsUnreachable, RangeInvalid."""
    known, spec = of.closed.found, of.way.spec
    generations = known.identity.generations
    begin = beginning(of.paths, generations)
    every = begin.parts(of.closed.horizon)
    has, broken = archived_or_why(of.paths.root, spec.inputs, known.topic.id)
    where = located(every, has, known.topic.earliest)
    of.refuse_more(where)
    if where.nowhere and broken:
        raise broken
    if where.nowhere and not of.request.without_lost:
        gone, shown = offsets_in(where.nowhere), places(where.nowhere, spec.inputs.shown)
        raise RecordsUnreachable.keys_gone(pipeline=spec.name, count=gone, places=shown)
    records = _accounted(of.paths, generations, offsets_in(every))
    if records is None or where.nowhere:
        archive = archive_records(of.paths.root, spec.inputs, known.topic.id)
        records = of.source.count(where.source) + archive.count(where.archive)
    used = used_within(of.paths, spec.inputs, generations, of.closed.batch, needs(EVER))
    spans = EVER if used or any(where) else ()
    return Found(spans, EVER, {}, where, records, partial(key_lines, of.closed), used=used)


def _accounted(paths: Paths, generations: Sequence[str], offsets: int) -> int | None:
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    [row] = ops_tables.query(
        paths.root,
        "batches",
        "SELECT sum(read) AS records, sum(covered) AS offsets, count(*) - count(read) AS unknown "
        f"FROM batches WHERE {own}",
    ).to_pylist()
    whole = row["offsets"] == offsets and not row["unknown"]
    return int(row["records"]) if whole else None


FINDERS: Final[dict[Reads, Callable[[Sought], Found]]] = {
    Reads.WAITING: _by_waiting,
    Reads.QUARANTINED: _by_quarantined,
    Reads.EXCISED: _by_excised,
    Reads.GIVEN: _as_given,
}
"""What a kind of repair reads -> how its records are found."""
