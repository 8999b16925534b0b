"""Holes: offsets that the index has no slice of, and which records the table may have of them.

A batch has a hole where its records were gone before it was accounted for, where the notes of a
task were lost, and from before there was an index. Its account bounds what the table has of them:
their number by the slices that there are, their event times by what Spark observed in the batch, or
by the watermarks around it. Where retention took offsets before any drain read them, no record is
in the table: such a hole is empty.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.repair.offsets.slices import less
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.lateness import late_for_certain
from spark_jobs.values.spans import EPOCH, MICROSECOND, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

EVER = Span(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_COLUMNS = (
    'generation, batch_id, source, "read", unknown, offsets_start, offsets_end, first_event_time, '
    "last_event_time, watermark, late_before, audited_at"
)
_MILLISECOND = timedelta(milliseconds=1)
_Row = dict[str, Any]  # as ops_tables.query gives it


class Hole(NamedTuple):
    """The offsets without a slice that one batch covers; or none whose account is still kept."""

    batch: int | None
    parts: Parts
    records: int | None
    """The most records that the drain read there; None if no account says so."""
    times: Span
    """Between these are the event times of those that it accepted."""

    @property
    def empty(self) -> bool:
        """Whether the table has no record of it."""
        return self.records == 0

    def touches(self, spans: Iterable[Span]) -> bool:
        """Whether a record may be there with a time in one of the spans. Of one that no drain has
        read nothing is known: an archive may have it.
        """
        return self.empty or any(map(self.times.overlaps, spans))


def holes(
    spec: Pipeline, paths: Paths, generations: Sequence[str], lacking: Parts
) -> tuple[Hole, ...]:
    """Those that these offsets are, by batch. `lacking`: partition -> offsets without a slice."""
    if not lacking:
        return ()
    found, rest, known = list[Hole](), lacking, _accounts(spec, paths, generations)
    for batch in known:
        left = less(rest, batch.covers)
        if parts := less(rest, left):
            found.append(Hole(batch.id, parts, batch.missing, batch.times))
            rest = left
    for partition, ranges in rest.items():
        for each in ranges:
            last = Place(partition, each[1] - 1)
            until = [batch.before for batch in known if batch.begins.passed(last)]
            times = Span(EVER.start, min(until, default=EVER.end))
            found.append(Hole(None, {partition: (each,)}, None, times))
    return tuple(found)


class _Account(NamedTuple):
    """What a batch's account says of its records."""

    id: int
    begins: Positions
    covers: Parts
    missing: int
    """Records that Spark may have read and that are in no slice."""
    times: Span
    before: datetime
    """No record that an earlier batch accepted has this event time or a later one."""


def _accounts(spec: Pipeline, paths: Paths, generations: Sequence[str]) -> list[_Account]:
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    rows = ops_tables.query(
        paths.root, "batches", f"SELECT {_COLUMNS} FROM batches WHERE {own} ORDER BY batch_id"
    ).to_pylist()
    noted = ops_tables.query(
        paths.root,
        "slices",
        f"SELECT generation, batch_id, sum(records) AS n FROM slices WHERE {own} GROUP BY 1, 2",
    ).to_pylist()
    in_slices = Counter({(row["generation"], row["batch_id"]): row["n"] for row in noted})
    reach = _Reach.of(spec, rows)
    found, ends = list[_Account](), Positions()
    for row, following in pairwise([*rows, None]):
        assert row is not None
        starts, stops = (Positions.of_json(row[f"offsets_{name}"]) for name in ("start", "end"))
        begins = starts.maximum(ends).among(stops)
        ends |= stops
        # Of a batch that was read again, `read` are those that were left then.
        read = (row["read"] or 0) + (0 if row["source"] == "progress" else row["unknown"] or 0)
        missing = max(0, read - in_slices[row["generation"], row["batch_id"]])
        found.append(
            _Account(
                row["batch_id"],
                begins,
                begins.parts(stops),
                missing,
                reach.times(row, following),
                reach.behind(row),
            )
        )
    return found


class _Reach(NamedTuple):
    """How far an event time may be from the watermark and from the clock.

    Both settings may have been longer when the batch ran. What the accounts show is then more.
    """

    spec: Pipeline
    delay: timedelta
    ahead: timedelta

    @classmethod
    def of(cls, spec: Pipeline, rows: Sequence[_Row]) -> _Reach:
        delay, ahead = spec.watermark_delay or timedelta(), spec.inputs.max_ahead
        for row, following in pairwise(rows):
            newest, reached = row["last_event_time"], following["watermark"]
            if newest is not None and row["audited_at"] is not None:
                ahead = max(ahead, newest - row["audited_at"])
            if newest is not None and reached is not None:
                delay = max(delay, newest - reached)
        return cls(spec, delay, ahead)

    def times(self, row: _Row, following: _Row | None) -> Span:
        """Between which the event times are of the records that the batch accepted."""
        if row["source"] == "progress":  # Spark observed all of them
            first, last = row["first_event_time"], row["last_event_time"]
            return Span(EPOCH, EPOCH) if first is None else Span(first, last + MICROSECOND)
        start, before = EVER.start, row["late_before"]
        if before is not None:
            passed = late_for_certain(self.spec, (before - EPOCH) // _MILLISECOND)
            start = start if passed is None else EPOCH + passed * _MILLISECOND
        end = EVER.end if row["audited_at"] is None else row["audited_at"] + self.ahead
        return Span(start, end if following is None else min(end, self.behind(following)))

    def behind(self, row: _Row) -> datetime:
        """The time before which all records are that batches before this one accepted."""
        reached, audited = row["watermark"], row["audited_at"]
        clock = EVER.end if audited is None else audited + self.ahead
        # A watermark is in milliseconds, and an event time that moves it in microseconds.
        return clock if reached is None else min(clock, reached + self.delay + _MILLISECOND)
