"""Pairs an aircraft's departures from New York into rotations.

Departures reach Spark in any order within the watermark, so none is judged on arrival: each waits in state until the watermark
passes it, and then all that are due are taken in event-time order. `advance` is that judgement, pure; `Rotations` carries it
into Spark's transformWithState.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StringType, StructField, StructType

UNSEEN_AFTER = timedelta(hours=48)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Departure(NamedTuple):
    """A departure from New York; `at_ms` is its event time in milliseconds since the epoch."""

    at_ms: int
    event_id: str
    origin: str
    destination: str


class Rotation(NamedTuple):
    """What became known of an aircraft: it came back (`back` is set), or it went unseen."""

    out: Departure
    back: Departure | None
    closed_at_ms: int


def advance(
    out: Departure | None, waiting: Iterable[Departure], watermark_ms: int
) -> tuple[Departure | None, list[Departure], list[Rotation]]:
    """Take what the watermark has passed: the departure still open, those still waiting, and what became known, in order.

    An aircraft is unseen at UNSEEN_AFTER past its last departure, whether or not a later departure is already waiting; so the
    result depends on the departures and the watermark alone, never on how they were batched.
    """
    unseen_ms = UNSEEN_AFTER // timedelta(milliseconds=1)
    known: list[Rotation] = []
    ordered = sorted(waiting)
    due = [departure for departure in ordered if departure.at_ms <= watermark_ms]
    for departure in due:
        if out is not None and departure.at_ms > out.at_ms + unseen_ms:
            known.append(Rotation(out, None, out.at_ms + unseen_ms))
        elif out is not None:
            known.append(Rotation(out, departure, departure.at_ms))
        out = departure
    if out is not None and out.at_ms + unseen_ms <= watermark_ms:
        known.append(Rotation(out, None, out.at_ms + unseen_ms))
        out = None
    return out, ordered[len(due) :], known


class Rotations(StatefulProcessor):
    """State of one tail number: the departure that is out, those that wait for the watermark, and timers to judge them at."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        departure = StructType([
            StructField("at_ms", LongType()), StructField("event_id", StringType()),
            StructField("origin", StringType()), StructField("destination", StringType()),
        ])
        self._handle = handle
        self._out = handle.getValueState("out", departure)
        self._waiting = handle.getListState("waiting", departure)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Let departures wait; the timer of the earliest decides when they are judged."""
        for row in rows:
            departure = Departure(_ms(row.event_time), row.event_id, row.origin, row.destination)
            self._waiting.appendValue(tuple(departure))
            self._handle.registerTimer(departure.at_ms)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Judge what the watermark has passed, and set the timer of what comes next."""
        watermark_ms = timerValues.getCurrentWatermarkInMs()
        held = self._out.get()
        before = Departure(*held) if held else None
        waiting = [Departure(*row) for row in self._waiting.get()] if self._waiting.exists() else []
        out, still, known = advance(before, waiting, watermark_ms)
        if len(still) != len(waiting):
            self._waiting.put([tuple(departure) for departure in still]) if still else self._waiting.clear()
        if out is None:
            self._out.clear()
        elif out != before:
            self._out.update(tuple(out))
            self._handle.registerTimer(out.at_ms + UNSEEN_AFTER // timedelta(milliseconds=1))
        return iter([_row(key[0], rotation) for rotation in known])

    def close(self) -> None:
        """Nothing to release."""


def _row(tail_number: str, rotation: Rotation) -> Row:
    out, back = rotation.out, rotation.back
    return Row(
        tail_number=tail_number,
        outcome="rotation" if back else "unseen",
        departed_from=out.origin,
        flew_to=out.destination,
        departed_at=_time(out.at_ms),
        next_from=back.origin if back else None,
        next_departed_at=_time(back.at_ms) if back else None,
        minutes_between=(back.at_ms - out.at_ms) // 60_000 if back else None,
        closed_at=_time(rotation.closed_at_ms),
    )


def _ms(moment: datetime) -> int:
    # Spark hands timestamps over without a zone, in the worker's own, which submit and main set to UTC. Rounded up: an event
    # is then due exactly when the watermark, which is in milliseconds, would make a later one of the same time late.
    return -((_EPOCH - moment.replace(tzinfo=UTC)) // timedelta(milliseconds=1))


def _time(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)
