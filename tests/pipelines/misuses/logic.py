"""Code that breaks a rule of Spark's arbitrary state each, for tests/spark/test_logic.py."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

ONE = StructType([StructField("n", LongType())])


class SetsTimer(StatefulProcessor):
    """In whatever time mode."""

    ttl: int | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._n = handle.getValueState("n", ONE, self.ttl)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        self._handle.registerTimer(4102444800000)
        return iter(())

    def close(self) -> None:
        """Nothing to release."""


class TtlByEventTime(SetsTimer):
    """A time to live where the watermark is the clock."""

    ttl = 1000


class SetsNothing(SetsTimer):
    """A value that is none."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        self._n.update(None)  # type: ignore[arg-type]
        return iter(())


class Raises(SetsTimer):
    """An error of its own."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        raise KeyError("boom")


class RaisesInInit(SetsTimer):
    """An error before there is a row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        raise KeyError("boom")


class RaisesInClose(SetsTimer):
    """An error when all is done."""

    def close(self) -> None:
        raise KeyError("boom")


class RaisesInTimer(SetsTimer):
    """An error of its own when a timer fires, by a TypeError."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        self._handle.registerTimer(1)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        yield Row(carrier=len(5))  # type: ignore[arg-type]


class YieldsText(SetsTimer):
    """No row."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        yield "text"  # type: ignore[misc]


def _made() -> type[SetsTimer]:
    """A class whose handler only exists once it is made."""
    return type("Made", (SetsTimer,), {"handleInputRows": lambda _self, _rows: iter(())})


TakesLess = _made()


def takes_less(key: Any) -> Iterator[pd.DataFrame]:
    """One parameter of three."""
    yield pd.DataFrame({"carrier": [key[0]]})


def set_nothing(
    key: Any, frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """A state that is none."""
    state.update(None)  # type: ignore[arg-type]
    yield pd.DataFrame({"carrier": []})


def set_duration(
    key: Any, frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """A time-out by the clock."""
    state.setTimeoutDuration(1000)
    yield pd.DataFrame({"carrier": []})


def only_waits(
    key: Any, frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """No misuse: a time-out on a key whose state was never set."""
    if state.hasTimedOut:
        state.remove()  # else Spark keeps an empty row of it
        yield pd.DataFrame({"carrier": [key[0]]})
    else:
        state.setTimeoutTimestamp(max(state.getCurrentWatermarkMs(), 1) + 1)


def set_timestamp(
    key: Any, frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """A time-out long ago."""
    state.setTimeoutTimestamp(1000)
    yield pd.DataFrame({"carrier": []})


def raises_for_buckets(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """An error of its own."""
    raise KeyError("boom")


def forgets_the_state(rows: pa.Table, state: pa.Table) -> pa.Table:
    """One table of two."""
    return rows.select(["carrier"])


def takes_rows_only(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """One parameter of two."""
    return rows, rows
