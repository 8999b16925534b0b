"""At work: what is known of the drains of a pipeline that have not ended, by what they write
anyway; without Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pydantic import Field as Described

from spark_jobs.checkpoint.lease import Begun
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.checkpoint.sign import Sign, sign
from spark_jobs.errors import SluiceError
from spark_jobs.messages.kind import LIVE_KINDS
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import Part
from spark_jobs.ops import history, ops_tables
from spark_jobs.ops.or_why import or_why
from spark_jobs.registry import find as registry
from spark_jobs.source.positions import Positions
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.times import at_milliseconds

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.json_of_tables import BatchLine

Standing = Literal["works", "silent", "died", "ended"]
Phase = Literal["prepares", "starts", "reads", "closes"]


class AtWork(Part):
    """A drain, by its note, its lease, its checkpoint and ops.batches."""

    pipeline: str = Described(description="the pipeline")
    run_id: str = Described(description="the run")
    kind: str = Described(description="what kind of run")
    started_at: datetime = Described(description="when it began")
    process: str = Described(description="its process and machine")
    looked_at: datetime = Described(description="when this was read, by the server's clock")
    standing: Standing = Described(
        description="works: its lease is held; silent: it gives no sign of life, or nobody can "
        "tell; died: its lease is free, and it told no end; ended: ops.runs has its row"
    )
    sign_at: datetime | None = Described(
        description="when it renewed its lease last; null on a disk, whose lock tells now"
    )
    phase: Phase = Described(
        description="prepares: looks at topic and checkpoint; starts: Spark, or the accounts that "
        "an earlier run left; reads; closes: all is read"
    )
    batch: int | None = Described(description="the batch that is planned and not committed")
    batches: int = Described(description="batches that it has accounted for")
    account: Account = Described(description="the sum of these batches")
    offsets_done: int = Described(description="offsets of them, and of those committed since")
    offsets_left: int | None = Described(
        description="offsets up to the end that it reads to; null as long as that is not known"
    )
    per_second: float | None = Described(description="records a second; null if nobody knows")
    basis: Literal["batches", "runs"] | None = Described(
        description="what that is measured by: its own last batches, or the last drains"
    )
    measured: int = Described(description="how many of these")
    seconds_left: float | None = Described(
        description="until all is read, at this rate; null if nobody knows"
    )
    words: dict[str, str] = Described(
        default_factory=dict, description="the same in words, as the page has it"
    )


class WorksNow(Part):
    """Of one pipeline."""

    runs: tuple[AtWork, ...] = Described(description="the drain, and the rebuild beside it")


LAST: Final = 5
"""Batches, or drains."""


class Pace(NamedTuple):
    """What is measured by so many."""

    basis: Literal["batches", "runs"]
    measured: int
    records: float
    """A second."""
    offsets: float
    """A second; more than the records where transactions leave gaps."""

    def seconds(self, left: int, elapsed: float) -> float | None:
        """How long so many offsets take, some read for so long; None if it takes longer."""
        if not left:
            return 0.0
        seconds = left / self.offsets - elapsed
        return seconds if seconds > 0 else None


def pace(root: UPath, pipeline: str, batches: Sequence[BatchLine]) -> Pace | None:
    """By the run's last batches; before the first, by the last drains that read something."""
    of_batches = [
        (batch.account.read, batch.account.covered, batch.seconds)
        for batch in batches
        if batch.seconds and batch.account.read
    ][-LAST:]
    if of_batches:
        return _pace("batches", of_batches)
    rows = ops_tables.query(
        root,
        "runs",
        f"SELECT read, query_seconds FROM runs WHERE {ops_tables.equals({'pipeline': pipeline})} "
        f"AND {ops_tables.among('kind', LIVE_KINDS)} AND status = 'succeeded' AND read > 0 "
        f"AND query_seconds > 0 ORDER BY started_at DESC LIMIT {LAST}",
    ).to_pylist()
    of_runs = [(row["read"], row["read"], row["query_seconds"]) for row in rows]
    return _pace("runs", of_runs) if of_runs else None


def _pace(basis: Literal["batches", "runs"], each: Sequence[tuple[int, int, float]]) -> Pace:
    records, offsets, seconds = (sum(column) for column in zip(*each, strict=True))
    return Pace(basis, len(each), records / seconds, offsets / seconds)


class _Read(NamedTuple):
    """What the checkpoint has."""

    done: Positions | None
    """Partition -> next offset behind the last commit; None if a file went between two looks."""
    batch: int | None = None
    """That is planned and not committed."""
    planned_at: datetime | None = None
    """When the newest batch was planned."""


def at_work(root: UPath, pipeline: str, now: datetime) -> tuple[AtWork, ...]:
    """The drain, and the rebuild beside it, that left a note and have not removed it. Nothing of a
    pipeline whose spec or notes cannot be read. Raises RootRefused, RootUnreachable.
    """
    found = or_why(root, lambda: [*_notes(root, pipeline)])
    if isinstance(found, SluiceError):
        return ()
    return tuple(_of(root, pipeline, paths, note, now) for paths, note in found)


def _notes(root: UPath, pipeline: str) -> Iterator[tuple[Paths, Begun]]:
    spec = live_spec(registry.load(pipeline), str(root))
    live = Paths(str(root), spec)
    rebuilt = read_begun(live)
    beside = [Paths(str(root), spec, rebuilt.place)] if rebuilt else []
    for paths in (live, *beside):
        try:
            yield paths, Begun.read(paths.running)
        except (FileNotFoundError, ValueError):
            continue


def _of(root: UPath, pipeline: str, paths: Paths, note: Begun, now: datetime) -> AtWork:
    since = note.started_at  # a person may have given the id of an earlier run
    batches = [
        batch
        for batch in history.batches_of(root, pipeline, note.run_id)
        if batch.audited_at is None or batch.audited_at >= since
    ]
    read = _read(paths)
    left = _left(note, read.done)
    rate = pace(root, pipeline, batches)
    found = sign(paths.lease, now)
    standing = _standing(root, pipeline, note, found)
    goes_on = standing in {"works", "silent"}
    elapsed = 0.0
    if read.batch is not None and read.planned_at and read.planned_at >= note.started_at:
        elapsed = (now - read.planned_at).total_seconds()
    return AtWork(
        pipeline=pipeline,
        run_id=note.run_id,
        kind=note.kind,
        started_at=note.started_at,
        process=f"process {note.pid} on {note.host}",
        looked_at=now,
        standing=standing,
        sign_at=found.at,
        phase=_phase(note, read, left),
        batch=read.batch,
        batches=len(batches),
        account=history.sum_of(batches),
        offsets_done=_done(note, batches, read.done),
        offsets_left=left,
        per_second=rate.records if rate else None,
        basis=rate.basis if rate else None,
        measured=rate.measured if rate else 0,
        seconds_left=rate.seconds(left, elapsed) if goes_on and rate and left is not None else None,
    )


def _standing(root: UPath, pipeline: str, note: Begun, found: Sign) -> Standing:
    holds = found.life != "gone" and found.run_id in {"", note.run_id}
    if holds and found.life == "alive" and found.at is None:
        return "works"  # a dead process never holds a disk's lock
    of_it = ops_tables.equals({"pipeline": pipeline, "run_id": note.run_id})
    rows = ops_tables.query(root, "runs", f"SELECT ended_at FROM runs WHERE {of_it}").to_pylist()
    if any(row["ended_at"] >= note.started_at for row in rows):
        return "ended"  # who started it has said so, though its lease has not run out
    if not holds:
        return "died"
    return "works" if found.life == "alive" else "silent"


def _read(paths: Paths) -> _Read:
    checkpoint = Checkpoint(paths.checkpoint)
    try:
        committed, planned = checkpoint.committed(), checkpoint.planned()
        done = checkpoint.done()
        if not planned:
            return _Read(done)
        batch = planned[-1] if planned[-1:] != committed[-1:] else None
        clock = at_milliseconds(checkpoint.clock_ms(planned[-1]))
        return _Read(done, batch, clock)
    except (SluiceError, OSError):
        return _Read(None)


def _left(note: Begun, done: Positions | None) -> int | None:
    if note.ends is None or done is None:
        return None
    return ((note.begins or Positions()) | done).count(note.ends)


def _done(note: Begun, batches: Sequence[BatchLine], done: Positions | None) -> int:
    if not batches or not done:
        return 0
    start = Positions.of_json(batches[0].offsets_start)
    return ((note.begins or Positions()) | start).count(done)


def _phase(note: Begun, read: _Read, left: int | None) -> Phase:
    if note.ends is None:
        return "prepares"
    if left == 0:
        return "closes"
    began = read.planned_at is not None and read.planned_at >= note.started_at
    return "reads" if began else "starts"
