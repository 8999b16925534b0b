"""Counts the timers that fire, in the workers: Spark's own numExpiredTimers stays 0 for Python (measured on 4.2.0)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

Function = Callable[[Any, Iterable[Any], Any], Iterator[Any]]
"""A pipeline's own, of a key, its frames and its state: Spark names their types no closer."""


class Timers:
    """The counts of one query, by step and batch."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._fired: dict[int, Accumulator[int]] = {}
        self._before: dict[int, int] = {}
        self.fired: dict[int, dict[int, int]] = {}
        """Batch id -> index of a step -> how many of its timers fired."""

    def of(self, step: int) -> Accumulator[int]:
        """What the workers of a step count with."""
        return self._fired.setdefault(step, self._spark.sparkContext.accumulator(0))

    def note(self, batch_id: int) -> None:
        """Give what was counted since the last call to a batch that has ended."""
        now = {step: int(fired.value) for step, fired in self._fired.items()}
        self.fired[batch_id] = {step: count - self._before.get(step, 0) for step, count in now.items()}
        self._before = now


class Counting(StatefulProcessor):
    """A pipeline's processor, and a count of the timers that fired."""

    def __init__(self, inner: StatefulProcessor, fired: Accumulator[int]) -> None:
        self._inner, self._fired = inner, fired

    def init(self, handle: StatefulProcessorHandle) -> None:
        """As the pipeline's."""
        self._inner.init(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """As the pipeline's."""
        return self._inner.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        """As the pipeline's. Spark calls it once for each timer that is due."""
        self._fired.add(1)
        return self._inner.handleExpiredTimer(key=key, timerValues=timerValues, expiredTimerInfo=expiredTimerInfo)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """As the pipeline's."""
        self._inner.handleInitialState(key, initialState, timerValues)

    def close(self) -> None:
        """As the pipeline's."""
        self._inner.close()


def counting(function: Function, fired: Accumulator[int]) -> Function:
    """A function for applyInPandasWithState, and a count of the time-outs that it is called for."""

    @functools.wraps(function)
    def counted(key: Any, frames: Iterable[Any], state: Any) -> Iterator[Any]:
        if state.hasTimedOut:
            fired.add(1)
        return function(key, frames, state)

    return counted
