"""Outdated: the rows that newer versions of tables beside the stream would make otherwise.

ops.outdated says which rows of these tables changed. A repair that stands has computed the rows of
its ranges with the versions that it names, so it settles the marks of these and of older ones. Of
two repairs that compute a row again the later one counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache, cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from spark_jobs.checkpoint.notes.excised import EXCISED
from spark_jobs.messages.kind import LATE_KINDS, SWAP_KINDS
from spark_jobs.ops import ops_tables, outdated, repairs
from spark_jobs.ops.outdated import Marks
from spark_jobs.repair.find.late import Touching
from spark_jobs.repair.find.rows_of_keys import (
    WHOLE,
    Sought,
    by_times,
    can_ask,
    extent,
    fit,
    intervals,
)
from spark_jobs.repair.find.standing import Part, Standing, in_parts
from spark_jobs.spec.analysis.looked_up import LookedUp, is_topic, looked_up
from spark_jobs.storage.pin import Changed
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import FIRST, LAST, MICROSECOND, Span, floor, joined

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.pin import Inputs
    from spark_jobs.storage.root.paths import Paths

LENGTHS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
"""Of the intervals in which rows are looked for (Ranges.every)."""


class Open(NamedTuple):
    """Marks of one version that are not settled everywhere."""

    marks: Marks
    touching: tuple[Touching, ...]
    """The positions of rows that are as they were before it; `changes` of each."""


class Outdated:
    """The marks of a table, as of a batch that is accounted for. `inputs` are the versions beside
    the stream up to which they count: those of the newest run, which a repair reads too.
    """

    def __init__(
        self, way: Ranged, paths: Paths, generations: Sequence[str], batch: int, inputs: Inputs
    ) -> None:
        self._way, self._paths, self._generations, self._batch = way, paths, generations, batch
        # Whether keys lack excised records, standing.py tells: other repairs compute some of them.
        self._inputs = {n: pin for n, pin in inputs.items() if way.whole or n != EXCISED}
        self._length = LENGTHS[way.spec.ranges.every]
        self._reads = cache(self._times_of)
        self._decided = dict[tuple[int, ...], list[Part]]()

    @cached_property
    def open(self) -> list[Open]:
        """Of each version that is not settled everywhere, oldest first."""
        found = (Open(of[0], self._left(*of, self._standing)) for of in self._marks)
        return [each for each in found if each.touching]

    def settled(self, before: datetime, until: datetime | None) -> list[Marks]:
        """Versions that change no row any more, by repairs that stand since before this time; nor
        one that drains will write. `until`: rows before it are final.
        """
        older, final = [each for each in self._standing if each.at < before], until or FIRST
        return [
            marks
            for marks, touching in self._marks
            if not any(self._left(marks, touching, each) for each in (older, self._standing))
            and all(span.end <= final for span in self._spans(marks, WHOLE))
        ]

    def ranges(self, until: datetime | None, bound: Span | None = None) -> list[Touching]:
        """The ranges of final rows that a repair would compute, within `bound`."""
        limit = Span(FIRST, until or FIRST).within(bound or WHOLE)
        return [
            each._replace(span=part)
            for of in self.open
            for each in of.touching
            if self._has_rows(part := each.span.within(limit))
        ]

    def _has_rows(self, part: Span) -> bool:
        """Whether a row may be in it: none is where an open window begins."""
        return not (part.empty or self._way.needed(part).empty)

    def intervals(self, within: Span, length: timedelta) -> Counter[datetime]:
        """Interval of `within`, by its start -> how many changes touch a row of it."""
        found = Counter[datetime]()
        for each in (each for of in self.open for each in of.touching):
            span = each.span.within(within)
            at = floor(span.start, length)
            while at < span.end:
                found[at] += each.changes
                at += length
        return found

    def untried(
        self, until: datetime, refused_at: datetime | None, tried: Iterable[Standing]
    ) -> int:
        """How many ranges of final rows were marked after that time, and are in none of the repairs
        that were tried with these versions.
        """
        limit, found = Span(FIRST, until), 0
        for of in self.open:
            if refused_at is not None and of.marks.noted_at <= refused_at:
                continue
            known = [
                span for each in tried if each.settles(of.marks, final=True) for span in each.spans
            ]
            left = (each.span.within(limit).without(known) for each in of.touching)
            found += sum(any(map(self._has_rows, parts)) for parts in left)
        return found

    def among(self, spans: Sequence[Span]) -> Iterator[tuple[LookedUp, list[Changed]]]:
        """The changes of marks that are open in one of the spans, for each step that they touch.
        Which excised records are in a row, these tell themselves.
        """
        for of in self.open:
            if of.marks.input != EXCISED and any(
                each.span.overlaps(span) for each in of.touching for span in spans
            ):
                for step in self._steps(of.marks.input):
                    yield step, [*self._changes(of.marks)]

    def excised(self, spans: Sequence[Span]) -> bool:
        """Whether rows in one of the spans have excised records."""
        touching = (each for of in self.open if of.marks.input == EXCISED for each in of.touching)
        return any(each.span.overlaps(span) for each in touching for span in spans)

    def _steps(self, name: str) -> tuple[LookedUp, ...]:
        """Those that depend on a table. Excised records come before the first."""
        spec = self._way.spec
        return (LookedUp(spec, 0, {}),) if name == EXCISED else looked_up(spec, name)

    def _changes(self, marks: Marks) -> Iterator[Changed]:
        return outdated.changes(self._paths.root, self._paths.pipeline, self._generations, marks)

    def _left(
        self, marks: Marks, touching: Iterable[Touching], standing: Sequence[Standing]
    ) -> tuple[Touching, ...]:
        """What is not settled by these repairs, the latest first. One that changed no row, and does
        not settle it, unsettles nothing.
        """
        final = self._way.spec.entry is not None
        told = [(each, each.settles(marks, final=final)) for each in standing]
        parts = self._parts([each for each, settles in told if settles or not each.order[1]])
        settling = {id(each) for each, settles in told if settles}
        ends, found = [part.span.end for part in parts], list[Touching]()
        for each in touching:
            over = islice(parts, bisect_right(ends, each.span.start), None)
            near = takewhile(lambda part: part.span.start < each.span.end, over)  # noqa: B023 - used at once
            settled = [part.span for part in near if id(part.by) in settling]
            found += [each._replace(span=span) for span in each.span.without(settled)]
        return tuple(found)

    def _parts(self, standing: Sequence[Standing]) -> list[Part]:
        """The same repairs decide for most marks."""
        key = (*map(id, standing),)
        if key not in self._decided:
            self._decided[key] = in_parts(standing)
        return self._decided[key]

    @cached_property
    def _marks(self) -> list[tuple[Marks, list[Touching]]]:
        """Each version, oldest first, with the rows that it touches."""
        root, pipeline = self._paths.root, self._paths.pipeline
        by_input = defaultdict[str, list[Marks]](list)
        for marks in outdated.stored(root, pipeline, self._generations, self._inputs):
            by_input[marks.input].append(marks)
        return [
            (marks, touched[marks.version])
            for name, several in by_input.items()
            for touched in (self._touching(self._steps(name), several),)
            for marks in several
        ]

    @cached_property
    def _standing(self) -> list[Standing]:
        """The latest first."""
        ours = ops_tables.among("generation", self._generations)
        swaps = ops_tables.among("kind", SWAP_KINDS if self._way.whole else LATE_KINDS)
        stands = f"{ours} AND {swaps} AND state IN ('swapped', 'canonical') AND inputs IS NOT NULL"
        rows = repairs.stored(self._paths.root, self._paths.pipeline, stands)
        found = (Standing.of(row).without_later(self._inputs) for row in rows)
        return sorted(found, key=lambda each: each.order, reverse=True)

    def _touching(
        self, steps: Sequence[LookedUp], several: Sequence[Marks]
    ) -> dict[int, list[Touching]]:
        """Version -> the rows that depend on what it changes, whether that is settled or not."""
        table, position = table_of(self._paths), self._way.position
        can = all(step.leaving and can_ask(table, position, step.leaving) for step in steps)
        asked = [marks for marks in several if can and marks.by_key]
        found = {
            marks.version: [] if can and marks.by_key else self._whole(marks) for marks in several
        }
        for some in _few(asked):
            wanted = dict[int, list[Changed]]()
            for marks in some:
                changes = [*self._changes(marks)]
                if all(fit(table, changes, step.leaving) for step in steps):
                    wanted[marks.version] = changes
                else:
                    found[marks.version] = self._whole(marks)
            reads = {marks.version: self._read(marks) for marks in some}
            for step in steps:
                sought = [
                    Sought(version, step.touched(times, read).within(WHOLE), keys)
                    for version, changes in wanted.items()
                    if (read := reads[version])
                    for times, keys in by_times(changes, step.leaving).items()
                ]
                of_step = intervals(table, position, [*step.leaving.values()], sought, self._length)
                for version, touching in of_step:
                    found[version].append(touching)
        return found

    def _whole(self, marks: Marks) -> list[Touching]:
        """All rows of the changes' times, whatever their keys are."""
        unread = self._read(marks) == WHOLE and not is_topic(self._way.spec, marks.input)
        limit = extent(table_of(self._paths), self._way.position) if unread else WHOLE
        spans = joined(self._spans(marks, limit))
        return [Touching(span, 0, changes=marks.changes) for span in spans]

    def _spans(self, marks: Marks, limit: Span) -> list[Span]:
        """The positions, within `limit`, that depend on the changes' times: of rows that are
        written, and of those that windows hold.
        """
        read, steps = self._read(marks), self._steps(marks.input)
        times = self._times(marks)
        return [step.touched(each, read).within(limit) for step in steps if read for each in times]

    def _times(self, marks: Marks) -> Sequence[Span]:
        """Those of its changes. Of a table beside the stream the keys say more."""
        if marks.input != EXCISED and not is_topic(self._way.spec, marks.input):
            return (marks.times,)
        spans = (Span(each.start or FIRST, each.end or LAST) for each in self._changes(marks))
        return joined(spans)

    def _read(self, marks: Marks) -> Span | None:
        if is_topic(self._way.spec, marks.input):  # what is new may be a record of any time
            return WHOLE
        return self._reads(marks.batch)

    def _times_of(self, batch: int) -> Span | None:
        """Between which the event times are of the records that are in rows or in open windows of
        batches up to this one; None if there are none.
        """
        own = ops_tables.of_checkpoint(self._paths.pipeline, self._generations)
        before = f"{own} AND batch_id <= {batch}"
        root, found = self._paths.root, list[datetime | None]()
        if batch > self._batch:  # it has no account yet
            return WHOLE
        for table, where, *columns in (
            ("slices", before, "first_event_time", "last_event_time"),
            ("slices", before, "first_late_time", "last_late_time"),
            ("batches", before, "first_event_time", "last_event_time"),
            ("merged", own, "event_time", "event_time"),
        ):
            ends = f"min({columns[0]}) AS first, max({columns[1]}) AS last"
            found += _one(root, table, f"SELECT {ends} FROM {table} WHERE {where}").values()
        unknown = f'{before} AND (unknown > 0 OR "read" IS NULL)'
        gone = f"SELECT count(*) AS n FROM batches WHERE {unknown}"
        if _one(root, "batches", gone)["n"]:
            return WHOLE
        known = [each for each in found if each is not None]
        return Span(min(known), max(known) + MICROSECOND).within(WHOLE) if known else None


def _few(several: Iterable[Marks]) -> Iterator[list[Marks]]:
    """In parts of so many changes that one query asks for all of their keys."""
    part = list[Marks]()
    for marks in several:
        if part and sum(each.changes for each in part) + marks.changes > outdated.MOST:
            yield part
            part = []
        part.append(marks)
    yield part


def _one(root: Any, table: str, sql: str) -> Row:
    [row] = ops_tables.query(root, table, sql).to_pylist()
    return cast("Row", row)
