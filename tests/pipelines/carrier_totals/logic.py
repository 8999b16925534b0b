"""One row of totals a carrier, written anew by each batch that has its events."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType


class Totals(StatefulProcessor):
    """State: events and miles so far. The initial state has columns carrier, events, miles."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        both = StructType([StructField("events", LongType()), StructField("miles", LongType())])
        self._totals = handle.getValueState("totals", both)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:
        self._totals.update((initialState.events, initialState.miles))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        events, miles = self._totals.get() or (0, 0)
        for row in rows:
            events = events + 1
            miles = miles + row.distance_miles
        self._totals.update((events, miles))
        yield Row(carrier=key[0], events=events, miles=miles)

    def close(self) -> None:
        """Nothing to release."""
