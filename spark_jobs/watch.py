"""Progress for a person: one line a batch as it ends, and below it one for each stateful operator."""

from __future__ import annotations

import logging

from spark_jobs import log
from spark_jobs.checkpoint import Offsets
from spark_jobs.run import Run
from spark_jobs.stages.operators import in_words, used
from spark_jobs.stages.progress import Progress
from spark_jobs.stateful.timers import Timers

LOG = logging.getLogger(__name__)


class Watch:
    """Logs each batch once, and what its operators did."""

    def __init__(self, run: Run, target: Offsets, timers: Timers) -> None:
        self._run, self._target, self._timers = run, target, timers
        self._shown: set[int] = set()
        committed = run.checkpoint.committed()
        self._start: Offsets = run.checkpoint.batch(committed[-1]).end if committed else {}

    def show(self, progress: dict[int, Progress]) -> None:
        """Log the batches that have come since the last call."""
        for batch_id in sorted(progress.keys() - self._shown):
            self._shown.add(batch_id)
            with log.context(batch=batch_id):
                self._show(progress[batch_id])

    def _show(self, progress: Progress) -> None:
        name, batch_id = self._run.spec.name, progress.batch_id
        if progress.repeated:
            LOG.info("%s: batch %d: %.1f s; a part of it may have run again, which its counts would have twice: the account is "
                     "read from Kafka", name, batch_id, progress.seconds)
            return
        LOG.info("%s", self._line(progress))
        for operator in used(self._run.spec, progress, self._timers.fired.get(batch_id, {})):
            LOG.info("  %s", in_words(operator))

    def _line(self, progress: Progress) -> str:
        batch = self._run.checkpoint.batch(progress.batch_id)
        rate = progress.read / progress.seconds if progress.seconds else 0
        whole = sum(end - self._start.get(p, 0) for p, end in self._target.items())
        done = sum(end - self._start.get(p, 0) for p, end in batch.end.items())
        state = progress.state
        rows = f"{state.rows:,} rows" if state else "unchanged"
        watermark = f"{batch.watermark:%Y-%m-%d %H:%M:%S}" if batch.watermark else "none yet"
        return (
            f"{self._run.spec.name}: batch {batch.id}: {progress.read:,} records in {progress.seconds:.1f} s "
            f"({rate:,.0f}/s), {done / whole if whole else 1:.0%} done, state {rows}, watermark {watermark}"
        )
