"""Bound: how far one run may go. What is left waits for the next run."""

from __future__ import annotations

import time

from spark_jobs.checkpoint import Batch
from spark_jobs.contract.spec import Pipeline


class Bound:
    """Decides at the begin of each batch whether the run has gone far enough: asked by the query, told by the driver.

    A batch without data is never one too many for max_batches or max_minutes: it closes windows, and reads nothing.
    """

    def __init__(self, spec: Pipeline) -> None:
        self._spec = spec
        self._batches = 0
        self._deadline = time.monotonic() + spec.max_minutes * 60 if spec.max_minutes else None
        self._asked = ""
        self.reached = ""
        """What ended the run, in words, once a batch was held for it; empty before."""

    def stop(self, reason: str) -> None:
        """Hold the next batch, whatever it is."""
        self._asked = reason

    def holds(self, batch: Batch) -> bool:
        """Whether this batch must not run; otherwise it counts as run."""
        self.reached = self._asked or (self._exceeded() if batch.covered else "")
        self._batches += 1 if batch.covered and not self.reached else 0
        return bool(self.reached)

    def _exceeded(self) -> str:
        if self._spec.max_batches is not None and self._batches >= self._spec.max_batches:
            return f"max_batches={self._spec.max_batches}"
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return f"max_minutes={self._spec.max_minutes:g}"
        return ""
