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

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

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

    @property
    def filtered(self) -> int:
        return int(self.row["filtered"] or 0)

    @property
    def others(self) -> int:
        """Records that did not enter."""
        return self.filtered + int(self.row["malformed"] or 0) + int(self.row["premature"] or 0)

    @property
    def day(self) -> datetime:
        """The newest event time in it."""
        found: datetime = self.row["last_event_time"]
        return found


def timed(
    spec: Pipeline, paths: Paths, known: Identity, since: datetime | None
) -> tuple[list[Timed], list[Row]]:
    """Of the batches accounted since then; and the accounts of all kept batches, ascending.

    Raises QuestionRefused if there is none.
    """
    rows = accounts.stored(paths, known, _COLUMNS)
    clock = _clock(spec, rows)
    wanted = {
        row["batch_id"]: row
        for row in rows
        if row["batch_id"] in clock
        and row["last_event_time"] is not None
        and row["late"] is not None
        and row["accepted"] is not None
        and (since is None or row["audited_at"] >= since)
    }
    if not wanted:
        raise QuestionRefused.no_batches(pipeline=spec.name)
    own = ops_tables.of_checkpoint(paths.pipeline, known.generations)
    first, last = min(wanted), max(wanted)
    within = f"{own} AND batch_id BETWEEN {first} AND {last}"
    late, slices = _late(paths, within), _slices(paths, within)

    def missed(late_before: datetime | None) -> int:
        at = first_timely(spec, late_before or EPOCH)
        return FIRST if at is None else micros(at)

    found = [
        Timed(row, clock[n], missed(row["late_before"]), (*late[n],), (*slices[n],))
        for n, row in wanted.items()
    ]
    return found, rows


def _clock(spec: Pipeline, rows: list[Row]) -> dict[int, int]:
    """Batch -> the newest event time that the watermark before it follows: of the last batch but
    one, since a batch judges by the watermark of the one before. 0 without any.

    Of several topics the watermark is the slowest one's, and behind a silence it has moved by the
    clock: there, and where an account is missing, it says itself what it follows.
    """
    delay = micros(spec.watermark_delay or timedelta())
    by_itself = spec.is_several or spec.close_after is not None
    reached, clock = {-1: 0, -2: 0}, dict[int, int]()
    newest = 0
    for row in rows:
        number, last = row["batch_id"], row["last_event_time"]
        told = 0 if row["late_before"] is None else micros(row["late_before"]) + delay
        known = number - 2 in reached and number - 1 in reached and not by_itself
        clock[number] = reached[number - 2] if known else told
        if not known and row["watermark"] is not None:
            newest = max(newest, micros(row["watermark"]) + delay)
        newest = max(newest, 0 if last is None else micros(last))
        reached[number] = newest
    return clock


def _late(paths: Paths, within: str) -> Mapping[int, list[int]]:
    sql = f"SELECT batch_id, event_time FROM late WHERE {within}"
    found = defaultdict[int, list[int]](list)
    for row in ops_tables.query(paths.root, "late", sql).to_pylist():
        found[row["batch_id"]].append(micros(row["event_time"]))
    return found


def _slices(paths: Paths, within: str) -> Mapping[int, list[Slice]]:
    sql = (
        'SELECT batch_id, "partition", first_offset, last_offset, records - coalesce(late, 0), '
        "first_event_time, last_event_time FROM slices "
        f"WHERE {within} AND first_event_time IS NOT NULL"
    )
    found = defaultdict[int, list[Slice]](list)
    for row in ops_tables.query(paths.root, "slices", sql).to_pylist():
        batch, partition, begins, ends, records, first, last = row.values()
        found[batch].append(Slice(partition, begins, ends, records, micros(first), micros(last)))
    return found
