"""Bound: how far one run may go. What is left waits for the next run."""

from __future__ import annotations

import time

from spark_jobs.checkpoint import Batch
from spark_jobs.contract.errors import Stopped
from spark_jobs.contract.spec import Pipeline
from spark_jobs.stopping import Wish


class Bound:
    """Decides at the begin of each batch whether the run has gone far enough: asked by the query, told by the driver.

    A batch without data is never one too many for max_batches or max_minutes: it closes windows, and reads nothing. But of a
    pipeline that goes by the clock, Spark would run such batches without end: one a run, in which what is due fires.
    """

    def __init__(self, spec: Pipeline, wish: Wish | None = None) -> None:
        self._spec = spec
        self._wish = wish or Wish()
        self._batches = 0
        self._began_ms = int(time.time() * 1000)  # as batches have it: one planned within the same millisecond is this run's
        self._deadline = time.monotonic() + spec.max_minutes * 60 if spec.max_minutes else None
        self.ticked = False
        """Whether a batch without data has run, planned in this run."""
        self.reached = ""
        """What ended the run early, in words, once a batch was held for it; empty before."""
        self.over = False
        """Whether a batch was held: the query runs nothing more."""

    @property
    def asked(self) -> str:
        """Who wants the run to end, once somebody does: the next batch is held then, whatever it is."""
        return self._wish.asked

    @property
    def stopped(self) -> Stopped | None:
        """The error of a run that was asked to stop and has left something to do; None of any other."""
        if not self.asked or self.reached != self.asked:
            return None
        return Stopped("the run was asked to stop before Kafka was drained.", "The next run goes on from there.")

    def grant(self) -> None:
        """Let one more batch without data run, which Sluice has planned."""
        self.over = self.ticked = False

    def holds(self, batch: Batch) -> bool:
        """Whether this batch must not run; otherwise it counts as run."""
        self.reached = self.asked or (self._exceeded() if batch.covered else "")
        self.over = bool(self.reached) or (self._spec.endless and not batch.covered and self.ticked)
        if not self.over:
            self._batches += 1 if batch.covered else 0
            self.ticked = self.ticked or (not batch.covered and batch.clock_ms >= self._began_ms)
        return self.over

    def _exceeded(self) -> str:
        if self._spec.max_batches is not None and self._batches >= self._spec.max_batches:
            return f"max_batches={self._spec.max_batches}"
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return f"max_minutes={self._spec.max_minutes:g}"
        return ""
