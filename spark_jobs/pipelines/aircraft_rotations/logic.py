"""Pairs an aircraft's departures from New York into rotations.

Within the watermark delay, departures reach Spark in any order. So each departure waits in state
until the watermark passes it. Then all due departures are processed in event-time order. `advance`
is the pure function that pairs them; `Rotations` calls it from Spark's transformWithState.
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
    """A result for an aircraft: it departed from New York again (`back` is set), or it is unseen
    (`back` is None).
    """

    out: Departure
    back: Departure | None
    closed_at_ms: int


def advance(
    out: Departure | None, waiting: Iterable[Departure], watermark_ms: int
) -> tuple[Departure | None, list[Departure], list[Rotation]]:
    """Processes the departures that the watermark has passed.

    Returns the open departure, the departures that still wait, and the new rotations in event-time
    order. An aircraft is unseen UNSEEN_AFTER after its last departure, even if a later departure
    already waits. So the result depends only on the departures and the watermark, not on the
    micro-batches.
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
    """The state of one tail number: the open departure, the departures that wait for the watermark,
    and their timers.
    """

    def init(self, handle: StatefulProcessorHandle) -> None:
        departure = StructType(
            [
                StructField("at_ms", LongType()),
                StructField("event_id", StringType()),
                StructField("origin", StringType()),
                StructField("destination", StringType()),
            ]
        )
        self._handle = handle
        self._out = handle.getValueState("out", departure)
        self._waiting = handle.getListState("waiting", departure)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Stores the departures, each with a timer at its event time."""
        for row in rows:
            departure = Departure(_ms(row.event_time), row.event_id, row.origin, row.destination)
            self._waiting.appendValue(tuple(departure))
            self._handle.registerTimer(departure.at_ms)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Processes the departures that the watermark has passed.

        Sets the timer at which the open departure is unseen.
        """
        watermark_ms = timerValues.getCurrentWatermarkInMs()
        held = self._out.get()
        before = Departure(*held) if held else None
        waiting = [Departure(*row) for row in self._waiting.get()] if self._waiting.exists() else []
        out, still, known = advance(before, waiting, watermark_ms)
        if len(still) != len(waiting):
            self._waiting.put(
                [tuple(departure) for departure in still]
            ) if still else self._waiting.clear()
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
    # Spark's timestamps have no zone. They are in the worker's zone; submit and main set it to UTC.
    # Rounded up: then an event is due exactly when the watermark, which is in milliseconds, would
    # make a later event of the same time late.
    return -((_EPOCH - moment.replace(tzinfo=UTC)) // timedelta(milliseconds=1))


def _time(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)
