"""Progress for a person: one line a batch as it ends, and below it one for each stateful operator."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.audit.operator_metrics import operator_metrics
from spark_jobs.audit.progress import Progress
from spark_jobs.checkpoint import Offsets
from spark_jobs.run import Run
from spark_jobs.stateful.timers import Timers


class Watch:
    """Says each batch once, and what its operators did."""

    def __init__(self, run: Run, target: Offsets, timers: Timers, say: Callable[[str], None]) -> None:
        self._run, self._target, self._timers, self._say = run, target, timers, say
        self._shown: set[int] = set()
        committed = run.checkpoint.committed()
        self._start: Offsets = run.checkpoint.batch(committed[-1]).end if committed else {}

    def show(self, progress: dict[int, Progress]) -> None:
        """Say the batches that have come since the last call."""
        for batch_id in sorted(progress.keys() - self._shown):
            self._shown.add(batch_id)
            if progress[batch_id].repeated:
                self._say(f"{self._run.spec.name}: batch {batch_id}: {progress[batch_id].seconds:.1f} s; a part of it may have "
                          "run again, which its counts would have twice: the account is read from Kafka")
                continue
            self._say(self._line(progress[batch_id]))
            for operator in operator_metrics(self._run.spec, progress[batch_id], self._timers.fired.get(batch_id, {})):
                self._say(f"  {operator}")

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
