"""No-data batch: a batch without records, planned by Sluice where Spark plans none, so that what is due leaves the state.

Spark plans such a batch itself when the watermark moved, but only within the query that moved it: after a crash in between,
when the topic is silent, and for the timers of the clock in a run that finds nothing new, it plans none. Sluice writes what
Spark would have written: the next entry of the offset log, with the same offsets, and a watermark or a time of its own. No
record is made up; what the entry says is what the account reads. Spark finds a batch that is planned and not committed, and
runs it.

Source: OffsetSeqLog, OffsetSeqMetadata and MicroBatchExecution.populateStartOffsets of Spark 4.2.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.contract.errors import LeaseLost
from spark_jobs.contract.files import create_whole
from spark_jobs.contract.spec import Pipeline

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.checkpoint.log import Checkpoint


class NoDataBatch(NamedTuple):
    """A batch without data that is due, and why."""

    watermark_ms: int
    reason: str
    by_silence: bool = False


class Clock(NamedTuple):
    """What the clock has to do with it."""

    now: datetime
    newest: datetime | None
    """The Kafka timestamp of the topic's newest record."""
    rows: int
    """Rows in state: where there are none, nothing can be due by the clock."""
    ticked: bool = False
    """Whether this run has had its batch without data."""
    closed: bool = False
    """Whether this run has closed what a silent topic leaves open: the clock goes on, and would find more to close."""


def due(spec: Pipeline, checkpoint: Checkpoint, clock: Clock) -> NoDataBatch | None:
    """What to plan, or None: also where a planned batch is not committed, which Spark has to run first."""
    committed, planned = checkpoint.committed(), checkpoint.planned()
    if not committed or planned[-1] != committed[-1]:
        return None
    last = checkpoint.batch(committed[-1])
    moved = checkpoint.next_watermark_ms(last.id)
    silent = _silent(spec, clock)
    if silent > max(moved, last.watermark_ms):
        return NoDataBatch(silent, f"the topic has been silent for close_after={spec.close_after}", by_silence=True)
    if moved > last.watermark_ms:
        return NoDataBatch(moved, "the watermark moved, and no batch has used it yet")
    if spec.endless and clock.rows and not clock.ticked:
        return NoDataBatch(last.watermark_ms, "timers or TTL of the clock may be due")
    return None


def _silent(spec: Pipeline, clock: Clock) -> int:
    """The watermark in milliseconds to which a silent topic's event time has moved on; 0 where it is not silent.

    As if an event had come that is close_after old: whatever comes within the watermark delay of that is on time still.
    """
    if spec.close_after is None or spec.watermark_delay is None or not clock.rows or clock.closed:
        return 0
    if clock.newest is None or clock.now - clock.newest < spec.close_after:
        return 0
    return (clock.now - spec.close_after - spec.watermark_delay - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def write(checkpoint: Checkpoint, batch: NoDataBatch, now: datetime) -> int:
    """Write the batch into the offset log, whole or not at all, and return its id."""
    last = checkpoint.committed()[-1]
    version, metadata, *sources = (checkpoint.folder / "offsets" / str(last)).read_text().splitlines()
    changed = {"batchWatermarkMs": batch.watermark_ms, "batchTimestampMs": int(now.timestamp() * 1000)}
    path = checkpoint.folder / "offsets" / str(last + 1)
    _forget(path)
    try:
        create_whole(path, "\n".join([version, json.dumps(json.loads(metadata) | changed, separators=(",", ":")), *sources]))
    except FileExistsError:
        raise LeaseLost(f"batch {last + 1} was planned in {path.parent} by another process meanwhile.",
                        "The next run begins with that batch.") from None
    return last + 1


def remove(checkpoint: Checkpoint) -> None:
    """Remove a batch without data that was planned, refused, and never ran: the next run would begin with it, for nothing."""
    planned = checkpoint.planned()
    if not planned or checkpoint.batch(planned[-1]).covered:
        return
    path, commit = (checkpoint.folder / log / str(planned[-1]) for log in ("offsets", "commits"))
    if not commit.exists():  # asked for by its name: a listing may be older than the commit
        path.unlink()
        _forget(path)


def _forget(path: UPath) -> None:
    """Hadoop's checksum of an entry that is there no more, by which it would refuse the next one of that name."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
