"""Batches: when the records of the kept batches came, by the accounts: event times, what was late.

All times are microseconds since 1970.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import QuestionRefused
from spark_jobs.ops import accounts, ops_tables
from spark_jobs.spec.analysis.late_rule import FIRST, micros
from spark_jobs.spec.analysis.lateness import first_timely
from spark_jobs.values.spans import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.ops.schema import Row
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.kept import Known

_COLUMNS = (
    "batch_id", "run_id", "late", "accepted", "malformed", "premature", "filtered",
    "first_event_time", "last_event_time", "watermark", "late_before", "operators", "audited_at",
)  # fmt: skip


class Slice(NamedTuple):
    """A run of offsets of one batch."""

    partition: int
    first_offset: int
    last_offset: int
    records: int
    """Of any outcome, without those that were late for certain."""
    first: int
    """Smallest event time of them."""
    last: int

    @property
    def parts(self) -> Parts:
        return {self.partition: ((self.first_offset, self.last_offset + 1),)}


class Timed(NamedTuple):
    """A batch with records that entered the first stateful step."""

    row: Row
    newest: int
    """The newest event time that the watermark follows by which its records were judged."""
    missed: int
    """The first event time that was not late in it, as the runs had it."""
    late: tuple[int, ...]
    """Event times of its late records, as ops.late keeps them."""
    slices: tuple[Slice, ...]

    @property
    def entered(self) -> int:
        return int(self.row["late"] + self.row["accepted"])

    def doubtful(self, each: Slice) -> int:
        """How many records of the slice, at most, did not enter on time: it has their times too."""
        late = self.row["late"] if each.first < self.missed else 0
        return late + sum(self.row[name] or 0 for name in ("malformed", "premature", "filtered"))


def timed(spec: Pipeline, known: Known, since: datetime | None) -> list[Timed]:
    """Of the batches accounted since then, ascending. Raises QuestionRefused if there is none."""
    rows = accounts.stored(known.paths, known.identity, _COLUMNS)
    clock = _clock(spec, rows)
    telling = ("last_event_time", "late", "accepted")
    timed_ones = (row for row in rows if all(row[name] is not None for name in telling))
    wanted = [row for row in timed_ones if since is None or row["audited_at"] >= since]
    if not wanted:
        raise QuestionRefused.no_batches(pipeline=spec.name)
    first, last = wanted[0]["batch_id"], wanted[-1]["batch_id"]
    within = f"{known.own} AND batch_id BETWEEN {first} AND {last}"
    late, slices = defaultdict[int, list[int]](list), defaultdict[int, list[Slice]](list)
    sql = f"SELECT batch_id, CAST(event_time AS BIGINT) AS at FROM late WHERE {within}"
    for row in ops_tables.query(known.paths.root, "late", sql).to_pylist():
        late[row["batch_id"]].append(row["at"])
    sql = (
        'SELECT batch_id, "partition", first_offset, last_offset, records - coalesce(late, 0), '
        "CAST(first_event_time AS BIGINT), CAST(last_event_time AS BIGINT) FROM slices "
        f"WHERE {within} AND first_event_time IS NOT NULL"
    )
    for row in ops_tables.query(known.paths.root, "slices", sql).to_pylist():
        batch, *of_slice = row.values()
        slices[batch].append(Slice(*of_slice))
    found = []
    for row in wanted:
        n, at = row["batch_id"], first_timely(spec, row["late_before"] or EPOCH)
        missed = FIRST if at is None else micros(at)
        found.append(Timed(row, clock[n], missed, (*late[n],), (*slices[n],)))
    return found


def _clock(spec: Pipeline, rows: list[Row]) -> Mapping[int, int]:
    """Batch -> the newest event time that the watermark before it follows: of the last batch but
    one, since a batch judges by the watermark of the one before. 0 without any.

    Of several topics the watermark is the slowest one's, and behind a silence it has moved by the
    clock: there, and where an account is missing, it says itself what it follows.
    """
    delay = micros(spec.watermark_delay or timedelta())
    by_itself = spec.is_several or spec.close_after is not None
    reached, clock, newest = {-1: 0, -2: 0}, dict[int, int](), 0
    for row in rows:
        number, marks = row["batch_id"], (row["late_before"], row["watermark"])
        judged, behind = (0 if at is None else micros(at) + delay for at in marks)
        if not by_itself and {number - 1, number - 2} <= reached.keys():
            judged, behind = reached[number - 2], 0
        clock[number] = judged
        newest = max(newest, behind, micros(row["last_event_time"] or EPOCH))
        reached[number] = newest
    return clock
