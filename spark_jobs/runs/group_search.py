"""Group search: finds the records of a batch that make an expression fail together: a sum over a
group that overflows, also with what the state has of it.

No record fails by itself, so the batch is tried (trial.py) with the records of half of its groups,
and so on, until single groups are left. Of those, all records of the batch are the found ones:
which of them is one too many depends on their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.checkpoint.failing import FailingRecord
from spark_jobs.contract.steps import Aggregate, GroupState
from spark_jobs.contract.windows import Tumbling
from spark_jobs.dataflow import dataflow
from spark_jobs.runs.trial import trial
from spark_jobs.source import kafka_source

if TYPE_CHECKING:
    from spark_jobs.checkpoint.failing import FailingRecords
    from spark_jobs.contract.micro_batch import Batch
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.run import Run
    from spark_jobs.runs.data_error import DataError

BUCKETS: Final = 65_536
"""Groups are tried by buckets of their keys' hash: of many groups, several are in one."""
MOST_TRIALS: Final = 120
"""After these, what is known to fail is not looked at more closely: each takes a second or more."""
TOGETHER: Final = "(with the other records of its group)"


def together(
    run: Run, batch: Batch, known: FailingRecords, error: DataError, most: int
) -> list[FailingRecord]:
    """The records of the groups that fail, up to one more than `most`; none if the batch fails
    without any record, or without a step that keeps state.
    """
    if not run.spec.keeps_state or trial(run, known, F.lit(False)) is not None:
        return []
    entered = dataflow(
        kafka_source.read_batch(run.spark, run.spec, run.settings, batch),
        run.spec,
        clock_ms=batch.clock_ms or None,
        failing=known.reasons,
    ).stateful_input
    bucket = _bucket(run.spec, entered)
    rows = entered.select(
        F.col("kafka.partition").alias("p"), F.col("kafka.offset").alias("o"), bucket.alias("b")
    )
    buckets = sorted(row["b"] for row in rows.select("b").distinct().collect())
    found = _Search(run, known, bucket, buckets).failing(error)
    records = list[FailingRecord]()
    for within, why in found:
        places = rows.where(F.col("b").isin(within)).select("p", "o").limit(most + 1 - len(records))
        records += (
            FailingRecord(
                batch=batch.id,
                partition=place["p"],
                offset=place["o"],
                reason=f"{why.of_sums(run.spec)}: {why.condition}: {why.message} {TOGETHER}",
            )
            for place in sorted(places.collect())
        )
    return records


def _bucket(spec: Pipeline, entered: DataFrame) -> Column:
    """int over the stateful input: rows of one group have the same. As far as the keys and a
    tumbling window of the first step that groups are columns of it; else all rows are one group.
    """
    grouping = (each for each in spec.steps if isinstance(each, Aggregate | GroupState))
    parts = list[Column]()
    if (step := next(grouping, None)) is not None:
        parts += [F.col(key) for key in step.keys if key in entered.columns]
        if isinstance(step.grouping_window, Tumbling):
            size = step.grouping_window.size // timedelta(microseconds=1)
            at = F.unix_micros(spec.topic.event_time)
            parts.append(at - F.pmod(at, F.lit(size)))
    return F.pmod(F.xxhash64(*parts), F.lit(BUCKETS)).cast("int") if parts else F.lit(0)


class _Search:
    """The search among the buckets of a batch."""

    def __init__(self, run: Run, known: FailingRecords, bucket: Column, buckets: list[int]) -> None:
        self._run = run
        self._known = known
        self._bucket = bucket
        self._buckets = buckets
        self._trials = 0

    def failing(self, error: DataError) -> Iterator[tuple[list[int], DataError]]:
        """Buckets that fail, each list by itself."""
        return self._look(0, len(self._buckets), error)

    def _look(
        self, start: int, end: int, error: DataError
    ) -> Iterator[tuple[list[int], DataError]]:
        """Those between two places, which fail together."""
        if end - start <= 1 or self._trials >= MOST_TRIALS:
            yield self._buckets[start:end], error
            return
        middle = (start + end) // 2
        first, second = self._error(start, middle), self._error(middle, end)
        if first is None and second is None:  # only both together
            yield self._buckets[start:end], error
        if first is not None:
            yield from self._look(start, middle, first)
        if second is not None:
            yield from self._look(middle, end, second)

    def _error(self, start: int, end: int) -> DataError | None:
        self._trials += 1
        first, last = self._buckets[start], self._buckets[end - 1]
        return trial(self._run, self._known, self._bucket.between(first, last))
