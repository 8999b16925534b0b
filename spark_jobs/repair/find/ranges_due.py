"""Ranges due: which ranges a repair would compute now, how many late records and outdated rows wait
for it, and how many of these no repair has tried before.

A repair that a person declined or took back, that failed its checks, or that was refused, would end
so again: the same records do not start another one by themselves. One whose swap failed, since a
drain held the lease for instance, and one that a rewind took back, may end otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field as Described

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.errors import RepairUnknown, catalogue
from spark_jobs.messages.kind import EXCISING_KINDS, LATE_KINDS
from spark_jobs.messages.part import Part
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.repair.find.late import LateSpans, Tried, in_ranges
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.repair.find.standing import Standing
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.ranged import mended, unmended
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

RUN_PREFIX = "after_drain__"
"""Of the DAG runs that are started behind a drain."""


class TouchedRange(Part):
    """One range that a repair would compute."""

    start: datetime = Described(description="its first position")
    end: datetime = Described(description="the first position behind it")
    late: int = Described(description="late records that touch a row of it")
    outdated: int = Described(
        default=0, description="changes of tables beside the stream that touch a row of it"
    )


class Touched(Part):
    """What a repair without a range would do now, as the planner finds it."""

    ranges: tuple[TouchedRange, ...] = Described(description="oldest first")
    too_early: int = Described(
        description="late records that touch rows which drains still write: no repair takes them"
    )


def touched(spec: Pipeline, paths: Paths) -> Touched:
    """Nothing before the first batch. Raises RangeUnsupported, CheckpointBroken."""
    if (found := _waiting(spec, paths)) is None:
        return Touched(ranges=(), too_early=0)
    late, outdated, until = found
    return Touched(
        ranges=tuple(
            TouchedRange(
                start=each.span.start,
                end=each.span.end,
                late=each.records,
                outdated=each.changes,
            )
            for each in in_ranges([*late.ranges(until), *outdated.ranges(until)])
        ),
        too_early=late.too_early(until),
    )


def outdated(spec: Pipeline, paths: Paths) -> tuple[int, datetime | None]:
    """How many ranges a repair would compute again since tables beside the stream have changed, and
    when the first of these changes was noted. Raises CheckpointBroken.
    """
    if unmended(spec) or (found := _waiting(spec, paths)) is None:
        return 0, None
    _, of, until = found
    ranges = in_ranges(of.ranges(until))
    since = min((each.marks.noted_at for each in of.open), default=None)
    return len(ranges), since if ranges else None


def untried(spec: Pipeline, paths: Paths) -> int:
    """How many late records and outdated ranges wait whose rows no drain writes any more, and which
    no repair has tried. Reads the checkpoint and the ops tables, and writes nothing.

    Raises RangeUnsupported or CheckpointBroken.
    """
    if (found := _waiting(spec, paths)) is None:
        return 0
    late, outdated, until = found
    if until is None or (late.extent() is None and not outdated.ranges(until)):
        return 0
    refused_at, tried = _refused_at(paths), _tried(paths, late.generations)
    refused = -1 if refused_at is None else _newest_batch(paths, late.generations, refused_at)
    records = late.untried(until, refused, [each for each, _ in tried])
    return records + outdated.untried(until, refused_at, [each for _, each in tried])


def _waiting(spec: Pipeline, paths: Paths) -> tuple[LateSpans, Outdated, datetime | None] | None:
    """What waits, and until when rows are final; None before the first batch."""
    way, identity, audited = mended(spec), read_identity(paths), read_cursor(paths.cursor).audited
    if identity is None or audited < 0:
        return None
    checkpoint = Checkpoint(paths.checkpoint)
    until = way.closed_until(checkpoint.batch(audited).watermark)
    own = (way, paths, identity.generations, audited)
    return LateSpans(*own), Outdated(*own, noted_now(checkpoint, spec)), until


def _refused_at(paths: Paths) -> datetime | None:
    """None without one. A refusal from before this place was live was of other records, whose
    batches have the same numbers.
    """
    own, live = ops_tables.equals({"pipeline": paths.pipeline}), read_live(paths)
    since = f"AND ended_at >= '{live.since.isoformat()}' " if live else ""
    kinds = ops_tables.among("kind", LATE_KINDS)
    codes = ops_tables.among("problem", (e.code for e in catalogue() if not e.retry))
    [row] = ops_tables.query(
        paths.root,
        "runs",
        f"SELECT max(ended_at) AS at FROM runs WHERE {own} AND {kinds} AND {codes} "
        f"{since}AND starts_with(run_id, '{RUN_PREFIX}')",
    ).to_pylist()
    found: datetime | None = row["at"]
    return found


def _newest_batch(paths: Paths, generations: Sequence[str], at: datetime) -> int:
    own = ops_tables.equals({"pipeline": paths.pipeline})
    [row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT max(batch_id) AS newest FROM batches WHERE {own} "
        f"AND {ops_tables.among('generation', generations)} "
        f"AND audited_at <= '{at.isoformat()}'",
    ).to_pylist()
    return -1 if row["newest"] is None else int(row["newest"])


def _tried(paths: Paths, generations: Sequence[str]) -> list[tuple[Tried, Standing]]:
    of_these = ops_tables.among("generation", generations)
    rows = repairs.stored(paths.root, paths.pipeline, of_these)
    undos = {row["repair_id"] for row in rows if row["repair_id"].endswith(UNDO)}
    return [
        (
            Tried(
                Positions.of_json(row["horizon"]),
                tuple(Span(part["start"], part["end"]) for part in row["ranges"] or ()),
            ),
            Standing.of(row),
        )
        for row in rows
        if row["kind"] in (*LATE_KINDS, *EXCISING_KINDS)
        and row["horizon"]
        and _final(paths, row, undos)
    ]


def _final(paths: Paths, row: Row, undos: set[str]) -> bool:
    if row["state"] == "undone":  # by a person, who left an undo, or by a rewind
        return f"{row['repair_id']}{UNDO}" in undos
    return row["state"] != "staged" or not _approved(paths, row["repair_id"])


def _approved(paths: Paths, repair_id: str) -> bool:
    try:
        return read_manifest(paths, repair_id).approved
    except RepairUnknown:
        return False


class Balance(Part):
    """Late rows = merged + duplicates + filtered + waiting, or `off` is not 0."""

    late: int = Described(description="rows of ops.late")
    merged: int = Described(description="of them, those that a repair brought into the rows")
    duplicates: int = Described(description="of them, copies of a record that is in the rows")
    filtered: int = Described(description="of them, those that a condition of the spec left out")
    waiting: int = Described(description="records of ops.late that no repair has used")
    off: int = Described(
        description="rows less fates and waiting: not 0 if ops.late has a record twice, or "
        "ops.merged has two fates of one"
    )

    def __str__(self) -> str:
        told = (
            f"{self.late:,} late = {self.merged:,} merged + {self.duplicates:,} duplicates + "
            f"{self.filtered:,} filtered + {self.waiting:,} waiting"
        )
        return told + (f"; off by {self.off:,}: one is counted twice" if self.off else "")


class QuarantineBalance(Part):
    """Quarantined = merged + duplicates + filtered + replayable + waiting + bad + unread, or `off`
    is not 0.
    """

    quarantined: int = Described(default=0, description="rows of ops.quarantine")
    merged: int = Described(
        default=0, description="of them, those that a replay brought into the rows"
    )
    duplicates: int = Described(
        default=0, description="of them, copies of a record that is in the rows"
    )
    filtered: int = Described(
        default=0, description="of them, those that a condition of the spec left out"
    )
    replayable: int = Described(
        default=0, description="good by today's spec: a replay would take them"
    )
    waiting: int = Described(
        default=0, description="good likewise, and drains still write their rows"
    )
    bad: int = Described(default=0, description="still malformed or premature")
    unread: int = Described(default=0, description="not looked at: there are too many")
    off: int = Described(default=0, description="rows less all of these")

    def __str__(self) -> str:
        told = (
            f"{self.quarantined:,} quarantined = {self.merged:,} merged + {self.duplicates:,} "
            f"duplicates + {self.filtered:,} filtered + {self.replayable:,} replayable + "
            f"{self.waiting:,} waiting + {self.bad:,} bad"
        )
        told += f" + {self.unread:,} that were not looked at" if self.unread else ""
        return told + (f"; off by {self.off:,}: one is counted twice" if self.off else "")


def balance(late: int, fates: Counter[str], waiting: int) -> Balance:
    """Of so many rows of ops.late, the fates of their records in ops.merged, and the records
    without one.
    """
    counted = {
        "merged": fates["merged"],
        "duplicates": fates["duplicate"],
        "filtered": fates["filtered"],
        "waiting": waiting,
    }
    return Balance(late=late, off=late - sum(counted.values()), **counted)


def quarantine_balance(
    quarantined: int, fates: Counter[str], good: tuple[int, int], bad: int, unread: int
) -> QuarantineBalance:
    """Of so many rows of ops.quarantine, their fates, and the others as they are by today's spec;
    `good` has those that can be replayed, and those that wait.
    """
    counted = {
        "merged": fates["merged"],
        "duplicates": fates["duplicate"],
        "filtered": fates["filtered"],
        "replayable": good[0],
        "waiting": good[1],
        "bad": bad,
        "unread": unread,
    }
    return QuarantineBalance(
        quarantined=quarantined, off=quarantined - sum(counted.values()), **counted
    )
