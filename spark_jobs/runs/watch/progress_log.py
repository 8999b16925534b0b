"""Progress log: one line for each batch when it ends, with the offsets left, then one line for each
stateful operator.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from spark_jobs.audit.operator_metrics import operator_metrics
from spark_jobs.audit.progress import Progress
from spark_jobs.checkpoint.run import Run
from spark_jobs.messages import log
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from spark_jobs.spec.duration import approximate
from spark_jobs.steps.timers import Timers

LOG = logging.getLogger(__name__)


class ProgressLog:
    """Logs each batch and its operators once.

    `target`: where the source ended when the run began.
    """

    def __init__(self, run: Run, target: Positions, timers: Timers) -> None:
        self._run = run
        self._target = target
        self._timers = timers
        self._shown: set[int] = set()
        self._start = Positions()
        """Where the run's first batch starts: not at 0 if retention removed records before the
        first run.
        """
        self._seconds = 0.0
        """Duration of this run's batches with data."""

    def show(self, progress: dict[int, Progress]) -> None:
        """Log the batches that are new since the last call."""
        for batch_id in sorted(progress.keys() - self._shown):
            self._shown.add(batch_id)
            batch = self._run.checkpoint.batch(batch_id)
            self._start = self._start or batch.start
            self._seconds += progress[batch_id].seconds if batch.covered else 0
            with log.context(batch=batch_id):
                self._log(batch, progress[batch_id])

    def _log(self, batch: Batch, progress: Progress) -> None:
        name = f"{self._run.spec.name}: batch {batch.id}"
        so_far = self._so_far(batch)
        if progress.repeated:
            LOG.info(
                "%s: %.1f s; %s; a part of it may have run again, so Spark's counts may be too "
                "high: the account is read "
                "from Kafka",
                name,
                progress.seconds,
                so_far,
            )
            return
        LOG.info("%s: %s", name, _format_batch(batch, progress, so_far))
        for operator in operator_metrics(
            self._run.spec, progress, self._timers.fired.get(batch.id, {})
        ):
            LOG.info("  %s", operator)

    def _so_far(self, batch: Batch) -> str:
        return format_remaining(
            self._start.count(batch.end), self._start.count(self._target), self._seconds
        )


def format_remaining(done: int, whole: int, seconds: float) -> str:
    """Text with the offsets read in `seconds`, the offsets left, and the time left at the rate so
    far.
    """
    if done >= whole:
        return f"all {done:,} offsets read" if done else "no new offsets"
    time = ""
    if done > 0 and seconds:
        time = (
            f", about {approximate(timedelta(seconds=(whole - done) * seconds / done))} at "
            "this rate"
        )
    return (
        f"{done:,} of {whole:,} offsets read ({100 * done // whole}%), {whole - done:,} left{time}"
    )


def _format_batch(batch: Batch, progress: Progress, so_far: str) -> str:
    rate = progress.read / progress.seconds if progress.seconds else 0
    state = f"{progress.state.rows:,} rows" if progress.state else "unchanged"
    watermark = f"{batch.watermark:%Y-%m-%d %H:%M:%S} UTC" if batch.watermark else "none yet"
    return (
        f"{progress.read:,} records in {progress.seconds:.1f} s ({rate:,.0f}/s); {so_far}; "
        f"state {state}; watermark {watermark}"
    )
