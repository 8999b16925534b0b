"""Counts fired timers in the workers, and keeps errors that Spark loses.

Spark's numExpiredTimers stays 0 for Python (measured on 4.2.0).
"""

from __future__ import annotations

import functools
import os
import tempfile
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spark_jobs.values.spark_times import make_total

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession


class InitErrors:
    """The file of one run. It exists only after an error."""

    def __init__(self) -> None:
        self._path = Path(tempfile.gettempdir()) / f"sluice-{uuid.uuid4().hex}.error"

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within the block, an error outside of a task is written to the file. In a task Spark
        tells it itself.
        """
        try:
            yield
        except Exception:
            if TaskContext.get() is None:
                with suppress(OSError), open(self._path, "x", opener=_for_owner) as file:
                    file.write(traceback.format_exc())
            raise

    def take(self) -> str:
        """The traceback of the first error, empty if there is none. Removes the file."""
        with suppress(OSError):
            text = self._path.read_text()
            self._path.unlink()
            return text
        return ""


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


StateFunction = Callable[[Any, Iterable[Any], Any], Iterator[Any]]
"""A pipeline's function for applyInPandasWithState: key, frames, state -> frames.

Any: Spark gives them no closer type.
"""


class Timers:
    """The fired timers of one query, by step and batch."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._accumulators: dict[int, Accumulator[int]] = {}
        self._totals: dict[int, int] = {}
        self.init_errors = InitErrors()
        self.fired: dict[int, dict[int, int]] = {}
        """Batch id -> index of the step -> number of fired timers."""

    def accumulator(self, step: int) -> Accumulator[int]:
        """The accumulator that the workers of a step add to."""
        return self._accumulators.setdefault(step, self._spark.sparkContext.accumulator(0))

    def close_batch(self, batch_id: int) -> None:
        """Sets the counts of a batch that has ended: the timers that fired since the last call."""
        totals = {step: int(accumulator.value) for step, accumulator in self._accumulators.items()}
        self.fired[batch_id] = {
            step: total - self._totals.get(step, 0) for step, total in totals.items()
        }
        self._totals = totals


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
