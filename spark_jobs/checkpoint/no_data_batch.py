"""No-data batch: a batch without records that evicts state which is due.

Sluice plans it where Spark does not.

Spark plans a no-data batch when the watermark moved, but only within the query that moved it. It
plans none after a crash in between, for a silent topic, or for processing-time timers and TTL in a
run that finds no new records. Sluice then writes what Spark would have written: the next entry of
the offset log, with the same offsets and a new watermark or batch time. It makes up no record, and
the audit reads this entry as any other. Spark finds a batch that is planned and not committed, and
runs it.

Source: OffsetSeqLog, OffsetSeqMetadata and MicroBatchExecution.populateStartOffsets of Spark 4.2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import LeaseLost
from spark_jobs.source.micro_batch import MILLISECOND, logged, of_log
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.files import create_whole
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.checkpoint.log import Checkpoint


class NoDataBatch(NamedTuple):
    """A no-data batch that is due, and why."""

    watermark_ms: int
    """The watermark to write, in milliseconds since the epoch."""
    reason: str
    by_silence: bool = False
    """Whether it is due because the topic has been silent for close_after."""


class Clock(NamedTuple):
    """What `due` compares with the time of day."""

    now: datetime
    newest: datetime | None
    """The Kafka timestamp of the topic's newest record. A producer with a wrong clock may have set
    one that is still to come (`heard`).
    """
    rows: int
    """Rows in state. Without any, nothing can be due by the time of day."""
    no_data_batch_ran: bool = False
    """Whether this run has had its no-data batch (RunLimits)."""
    closed: bool = False
    """Whether this run has closed the windows of a silent topic.

    Without this, the moving clock would find more to close.
    """
    unread: bool = False
    """Whether the topic has records that no batch has read; asked only if `newest` is ahead."""
    topics: Mapping[str, datetime] = MappingProxyType({})
    """Of several topics: name -> the newest event time (Cursor.newest)."""
    silent: frozenset[str] = frozenset()
    """The topics that have given nothing for silent_after, and have nothing unread."""


def due(spec: Pipeline, checkpoint: Checkpoint, clock: Clock) -> NoDataBatch | None:
    """The no-data batch to plan, or None.

    Also None while a planned batch is not committed: Spark has to run that first.
    """
    committed, planned = checkpoint.committed(), checkpoint.planned()
    if not committed or planned[-1] != committed[-1]:
        return None
    last = checkpoint.batch(committed[-1])
    moved = checkpoint.next_watermark_ms(last.id)
    since = heard(spec, checkpoint, clock)
    silent = _silence_watermark_ms(spec, clock, since)
    if silent > max(moved, last.watermark_ms):
        reason = f"the topic has been silent for close_after={spec.close_after}"
        if since != clock.newest:
            reason += f", since the last batch with records, of {since:%F %H:%M:%S}"
        return NoDataBatch(silent, reason, by_silence=True)
    slowest = _slowest_ms(spec, clock)
    if slowest > max(moved, last.watermark_ms):
        return NoDataBatch(slowest, _of_slowest(clock))
    if moved > last.watermark_ms:
        return NoDataBatch(moved, "the watermark moved, and no batch has used it yet")
    if spec.endless and clock.rows and not clock.no_data_batch_ran:
        return NoDataBatch(last.watermark_ms, "processing-time timers or TTL may be due")
    return None


def _slowest_ms(spec: Pipeline, clock: Clock) -> int:
    """The watermark of several topics, in milliseconds since the epoch; 0 without one.

    It is that of the slowest topic which is not silent; if all are, of the fastest: none of them
    holds another back then. One whose newest event time nobody knows holds all back.

    Spark's own stays where one of them had no record since the run began (steps/chain.py).
    """
    names = [topic.name for topic in spec.inputs]
    if len(names) == 1 or spec.watermark_delay is None or not clock.rows:
        return 0
    heard_of = [name for name in names if name not in clock.silent]
    times = [clock.topics.get(name) for name in heard_of or names]
    known = [time for time in times if time is not None]
    if not known or (heard_of and len(known) < len(times)):
        return 0
    newest = min(known) if heard_of else max(known)
    return logged(newest) - spec.watermark_delay // MILLISECOND


def _of_slowest(clock: Clock) -> str:
    silent = ", ".join(sorted(clock.silent))
    if silent:
        return f"nothing has come for silent_after: {silent} does not hold the watermark back"
    return "the watermark of the slowest topic moved, and no batch has used it yet"


def heard(spec: Pipeline, checkpoint: Checkpoint, clock: Clock) -> datetime | None:
    """When the topic's newest record came; None if none ever did.

    By its Kafka timestamp. One that is more than max_ahead still to come is of a wrong clock: it
    would hide every silence until then. In its place stands the time at which Spark planned the
    last batch with records: every record that was read came before it.
    """
    if clock.newest is None or not is_ahead(spec, clock):
        return clock.newest
    if clock.unread:  # not silent: when these came, nobody knows
        return clock.now
    since: datetime | None = clock.newest
    planned = set(checkpoint.planned())
    for batch in reversed(checkpoint.committed()):
        since = of_log(checkpoint.clock_ms(batch))
        if batch - 1 not in planned or checkpoint.batch(batch).covered:  # purged, or the first
            break
    return since


def is_ahead(spec: Pipeline, clock: Clock) -> bool:
    """Whether the newest record is still to come by more than max_ahead: by a wrong clock."""
    return clock.newest is not None and clock.newest > clock.now + spec.inputs.max_ahead


def clock_ahead(spec: Pipeline, clock: Clock) -> str:
    """One line about a newest record that is still to come; empty if it is not."""
    if spec.close_after is None or clock.newest is None or not is_ahead(spec, clock):
        return ""
    return (
        f"the newest record of {spec.inputs.name} has the Kafka timestamp "
        f"{clock.newest:%F %H:%M:%S}, which is still to come: the clock of a producer, or of this "
        "machine, is wrong. close_after counts from the last batch with records"
    )


def _silence_watermark_ms(spec: Pipeline, clock: Clock, since: datetime | None) -> int:
    """The watermark that close_after gives a silent topic, in milliseconds since the epoch; 0 if
    the topic is not silent. `since`: when its newest record came.

    It is now - close_after - watermark_delay, as if an event had come that is close_after old. A
    record that comes within the watermark delay of that event is still on time.
    """
    if spec.close_after is None or spec.watermark_delay is None or not clock.rows or clock.closed:
        return 0
    if since is None or clock.now - since < spec.close_after:
        return 0
    return logged(clock.now - spec.close_after - spec.watermark_delay)


def write(checkpoint: Checkpoint, batch: NoDataBatch, now: datetime) -> int:
    """Write the batch into the offset log, atomically; its id.

    Raises LeaseLost if another process wrote that entry.
    """
    last = checkpoint.committed()[-1]
    version, metadata, *sources = (
        (checkpoint.folder / "offsets" / str(last)).read_text().splitlines()
    )
    replaced = {
        "batchWatermarkMs": batch.watermark_ms,
        "batchTimestampMs": int(now.timestamp() * 1000),
    }
    path = checkpoint.folder / "offsets" / str(last + 1)
    _remove_checksum(path)
    try:
        create_whole(
            path,
            "\n".join(
                [
                    version,
                    json.dumps(json.loads(metadata) | replaced, separators=(",", ":")),
                    *sources,
                ]
            ),
        )
    except FileExistsError:
        raise LeaseLost.planned_elsewhere(batch=last + 1, folder=path.parent) from None
    return last + 1


def remove(checkpoint: Checkpoint, confirm: Callable[[], None] = lambda: None) -> None:
    """Remove a no-data batch that was planned and refused, and never ran: the next run would begin
    with it, without need. Raises what `confirm` does.

    On an object store it stays: there a removal may come late, when the next run has begun with the
    batch, and a commit of the batch behind its removal.
    """
    planned = checkpoint.planned()
    if is_remote(str(checkpoint.folder)) or not planned or checkpoint.batch(planned[-1]).covered:
        return
    path, commit = (checkpoint.folder / log / str(planned[-1]) for log in ("offsets", "commits"))
    if commit.exists():
        return
    confirm()
    path.unlink()
    _remove_checksum(path)


def _remove_checksum(path: UPath) -> None:
    """By it Hadoop would refuse the next entry of that name."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
