"""Limits of a run: when it stops before the end of the topic, also because somebody asks. The next
run reads what is left.

For the whole of a run, SIGTERM and Ctrl-C only request a stop. The run stops where nothing is left
half-done.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from spark_jobs.errors import Stopped
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spec import Pipeline

ASKED = "SIGTERM or Ctrl-C"


class StopRequest:
    """Whether somebody has asked the run to stop."""

    def __init__(self) -> None:
        self.asked = ""
        """Who asked; empty while nobody has."""

    def stop(self, who: str) -> None:
        """Ask the run to stop."""
        self.asked = who

    def raise_if_asked(self) -> None:
        """Raise Stopped if somebody has asked.

        For places at which the run has changed nothing yet.
        """
        if self.asked:
            raise Stopped.before_reading()


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Within the block, SIGTERM and Ctrl-C set the request and do not end the process.

    For the main thread: Python delivers signals to no other.
    """
    request = StopRequest()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        request.stop(ASKED)

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class RunLimits:
    """Decides at the start of each batch whether it may run.

    The sink asks in foreachBatch; the driver reads the decision.

    max_batches and max_minutes count only batches with data: a no-data batch closes windows and
    reads nothing. For a pipeline with processing-time timers or TTL, Spark would run no-data
    batches without end. One of them may run; it fires what is due.
    """

    def __init__(self, spec: Pipeline, stop: StopRequest | None = None) -> None:
        self._spec = spec
        self._stop = stop or StopRequest()
        self._batches = set[int]()
        self._began_ms = int(time.time() * 1000)  # whole milliseconds, as in the offset log
        self._deadline = time.monotonic() + spec.max_minutes * 60 if spec.max_minutes else None
        self.no_data_batch_ran = False
        """Whether a no-data batch has run that was planned in this run."""
        self.reached = ""
        """The limit that ended the run early, such as max_batches=3; empty while none has."""
        self.over = False
        """Whether a batch was refused: the query runs no further batch."""

    @property
    def asked(self) -> str:
        """Who asked the run to stop; empty while nobody has.

        Every later batch is then refused, with data or without.
        """
        return self._stop.asked

    @property
    def stopped(self) -> Stopped | None:
        """The error of a run that was asked to stop and has work left; None for any other run."""
        if not self.asked or self.reached != self.asked:
            return None
        return Stopped.before_drained()

    def admit(self, batch: Batch) -> bool:
        """Decide whether this batch may run, and count it if it may."""
        self.reached = self.asked or (self._exceeded(batch) if batch.covered else "")
        self.over = bool(self.reached) or (
            self._spec.endless and not batch.covered and self.no_data_batch_ran
        )
        if not self.over:
            self._batches |= {batch.id} if batch.covered else set()
            self.no_data_batch_ran = self.no_data_batch_ran or (
                not batch.covered and batch.clock_ms >= self._began_ms
            )
        return not self.over

    def allow_no_data_batch(self) -> None:
        """Let one more no-data batch run: the one that Sluice has just planned."""
        self.over = False
        self.no_data_batch_ran = False

    def record_early_stop(self) -> None:
        """Record that the run was asked to stop and has work left, although no batch was
        refused.
        """
        self.reached = self.asked

    def _exceeded(self, batch: Batch) -> str:
        # A batch that failed, and runs again in the same run, counts once.
        others = len(self._batches - {batch.id})
        if self._spec.max_batches is not None and others >= self._spec.max_batches:
            return f"max_batches={self._spec.max_batches}"
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return f"max_minutes={self._spec.max_minutes:g}"
        return ""
