"""Limits of a run: how far one run may go. What is left waits for the next run."""

from __future__ import annotations

import time

from spark_jobs.contract.errors import Stopped
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.contract.spec import Pipeline
from spark_jobs.stopping import Wish


class RunLimits:
    """Decides when each batch begins whether it may run. The sink asks, in foreachBatch; the driver reads what was decided.

    max_batches and max_minutes count batches with data only: a batch without data closes windows, and reads nothing. But for
    a pipeline that goes by the clock, Spark would run batches without data for ever: one of them may run, in which what is
    due fires.
    """

    def __init__(self, spec: Pipeline, wish: Wish | None = None) -> None:
        self._spec = spec
        self._wish = wish or Wish()
        self._batches = 0
        self._began_ms = int(time.time() * 1000)  # whole milliseconds, as the offset log has them
        self._deadline = time.monotonic() + spec.max_minutes * 60 if spec.max_minutes else None
        self.ticked = False
        """Whether a batch without data has run that was planned in this run."""
        self.reached = ""
        """The limit that ended the run early, in words; empty as long as none has."""
        self.over = False
        """Whether a batch was refused: the query runs nothing more."""

    @property
    def asked(self) -> str:
        """Who wants the run to end, once somebody does: the next batch is refused then, with data or without."""
        return self._wish.asked

    @property
    def stopped(self) -> Stopped | None:
        """The error of a run that was asked to stop and has left something to do; None for any other run."""
        if not self.asked or self.reached != self.asked:
            return None
        return Stopped("the run was asked to stop before Kafka was drained.", "The next run goes on from there.")

    def admit(self, batch: Batch) -> bool:
        """Decide whether this batch may run, and count it if it may."""
        self.reached = self.asked or (self._exceeded() if batch.covered else "")
        self.over = bool(self.reached) or (self._spec.endless and not batch.covered and self.ticked)
        if not self.over:
            self._batches += 1 if batch.covered else 0
            self.ticked = self.ticked or (not batch.covered and batch.clock_ms >= self._began_ms)
        return not self.over

    def allow_no_data_batch(self) -> None:
        """Let one more batch without data run: the one that Sluice has just planned."""
        self.over = self.ticked = False

    def leave_the_rest(self) -> None:
        """Record that the run ends with work left, because it was asked to stop. No batch was refused for it."""
        self.reached = self.asked

    def _exceeded(self) -> str:
        if self._spec.max_batches is not None and self._batches >= self._spec.max_batches:
            return f"max_batches={self._spec.max_batches}"
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return f"max_minutes={self._spec.max_minutes:g}"
        return ""
