"""Reads what is known of the drains of a pipeline that have not ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.lease import Begun
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live import live_spec, read_begun
from spark_jobs.checkpoint.sign import Sign, sign
from spark_jobs.errors import SluiceError
from spark_jobs.ops import history, ops_tables
from spark_jobs.ops.at_work.json_of_run import AtWork, Phase, Standing
from spark_jobs.ops.at_work.pace import pace
from spark_jobs.ops.or_why import or_why
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.times import at_milliseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upath import UPath

    from spark_jobs.ops.json_of_tables import BatchLine
    from spark_jobs.source.micro_batch import Offsets


class _Read(NamedTuple):
    """What the checkpoint has."""

    done: Offsets | None
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
        return "works"  # a disk's lock is never that of a dead process
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
        done = checkpoint.batch(committed[-1]).end if committed else {}
        if not planned:
            return _Read(done)
        batch = planned[-1] if planned[-1:] != committed[-1:] else None
        clock = at_milliseconds(checkpoint.clock_ms(planned[-1]))
        return _Read(done, batch, clock)
    except (SluiceError, OSError):
        return _Read(None)


def _left(note: Begun, done: Offsets | None) -> int | None:
    if note.ends is None or done is None:
        return None
    begins = (note.begins or {}) | done
    return sum(max(0, end - begins.get(p, 0)) for p, end in note.ends.items())


def _done(note: Begun, batches: Sequence[BatchLine], done: Offsets | None) -> int:
    if not batches or not done:
        return 0
    of_note = {str(p): first for p, first in (note.begins or {}).items()}
    start = of_note | json.loads(batches[0].offsets_start or "{}")
    return sum(max(0, end - start.get(str(p), 0)) for p, end in done.items())


def _phase(note: Begun, read: _Read, left: int | None) -> Phase:
    if note.ends is None:
        return "prepares"
    if left == 0:
        return "closes"
    began = read.planned_at is not None and read.planned_at >= note.started_at
    return "reads" if began else "starts"
