"""Counting calls: a pipeline's own state functions, called in workers that count what fires."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spark_jobs.values.spark_times import make_total

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

    from spark_jobs.steps.timers import InitErrors

StateFunction = Callable[[Any, Iterable[Any], Any], Iterator[Any]]
"""A pipeline's function for applyInPandasWithState: key, frames, state -> frames.

Any: Spark gives them no closer type.
"""


class TimerCountingProcessor(StatefulProcessor):
    """Calls the pipeline's processor, and counts its fired timers. Any: as in StatefulProcessor."""

    def __init__(
        self, inner: StatefulProcessor, fired: Accumulator[int], errors: InitErrors
    ) -> None:
        self._inner = inner
        self._fired = fired
        self._errors = errors

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Calls the pipeline's."""
        make_total()
        with self._errors.kept():
            self._inner.init(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Calls the pipeline's."""
        return self._inner.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Calls the pipeline's. Spark calls it once for each timer that is due."""
        self._fired.add(1)
        return self._inner.handleExpiredTimer(
            key=key, timerValues=timerValues, expiredTimerInfo=expiredTimerInfo
        )

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Calls the pipeline's."""
        self._inner.handleInitialState(key, initialState, timerValues)

    def close(self) -> None:
        """Calls the pipeline's."""
        with self._errors.kept():
            self._inner.close()


def count_timeouts(function: StateFunction, fired: Accumulator[int]) -> StateFunction:
    """The same function for applyInPandasWithState. It also counts the calls for a timeout."""

    @functools.wraps(function)
    def counted(key: Any, frames: Iterable[Any], state: Any) -> Iterator[Any]:
        if state.hasTimedOut:
            fired.add(1)
        return function(key, frames, state)

    return counted
