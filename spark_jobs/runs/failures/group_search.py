"""Group search: finds the records of a batch that make an expression fail together: a sum over a
group that overflows, also with what the state has of it.

No record fails by itself, so the batch is tried with the records of half of its groups, and so on,
down to single groups that fail. Of those, all records of the batch are the found ones: which of
them is one too many depends on their order. What it had no time for is not said to fail: the batch
fails again without the found ones, and the next search goes on.

A trial's query is the drain's, on its own checkpoint and state; its sink computes the rows and then
fails. So Spark commits neither the batch nor what it did to the state. It runs only where
State.takes_trials: the batch itself then runs with other records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.checkpoint.notes.failing import FailingRecord
from spark_jobs.dataflow import dataflow
from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.place_columns import columns
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Tumbling
from spark_jobs.steps.timers import Timers
from spark_jobs.storage.root.path_forms import spark_url

if TYPE_CHECKING:
    from spark_jobs.checkpoint.notes.failing import FailingRecords
    from spark_jobs.checkpoint.run import Run
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.spec import Pipeline

PASSED: Final = "sluice: the trial has passed"


def trial(run: Run, known: FailingRecords, entering: Column) -> DataError | None:
    """What fails if only these rows of the stateful input enter; None if nothing does."""
    run.lease.confirm()
    spec = run.spec
    assert spec.state.takes_trials
    records = source_of(spec, run.settings).stream(run.spark)
    flow = dataflow(records, spec, run.settings, run.inputs, failing=known.reasons)
    rows = flow.entering(entering).output(run.paths.root, Timers(run.spark), run.identity.topic_id)

    def compute(batch: DataFrame, _: int) -> None:
        batch.write.format("noop").mode("append").save()
        raise RuntimeError(PASSED)

    writer = rows.writeStream.outputMode(spec.output_mode).queryName(f"{spec.name}, a trial")
    query = (
        writer.foreachBatch(compute)
        .option("checkpointLocation", spark_url(run.target.checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        text = str(error)
        if PASSED in text:
            return None
        if (found := DataError.of(text)) is None:
            raise
        return found
    message = f"batch of {spec.name} was committed by a trial"
    raise AssertionError(message)


BUCKET_BITS: Final = 16
"""Groups are tried by the first bits of their keys' hash, and within those by all of it."""
MOST_TRIALS: Final = 120
"""Of one search: each takes a second or more, and what was found is stored at its end only."""
TOGETHER: Final = "(with the other records of its group)"
Span = tuple[int, int]
"""The first and the last hash of some neighbouring groups."""


def together(
    run: Run, batch: Batch, known: FailingRecords, error: DataError, most: int
) -> list[FailingRecord]:
    """The records of some groups that fail, each by itself, up to one more than `most`; none if the
    batch fails without any record, without a step that keeps state, or by no single group.
    """
    if not run.spec.keeps_state or trial(run, known, F.lit(False)) is not None:
        return []
    entered = dataflow(
        run.source.read(run.spark, batch.parts),
        run.spec,
        run.settings,
        run.inputs,
        clock_ms=batch.clock_ms or None,
        failing=known.reasons,
    ).stateful_input
    group = _group(run.spec, entered)
    rows = entered.select(*columns(entered), group.alias("g"))

    def error_of(first: int, last: int) -> DataError | None:
        return trial(run, known, group.between(first, last))

    def groups_of(first: int, last: int) -> list[Span]:
        return _spans(rows.where(F.col("g").between(first, last)), F.col("g"))

    buckets = _spans(rows, F.shiftright("g", 64 - BUCKET_BITS))
    records = list[FailingRecord]()
    for found, why in Search(error_of, groups_of).failing(buckets, error):
        places = rows.where(F.col("g") == found).select(*PLACE).limit(most + 1 - len(records))
        reason = why.reason_of_sums(run.spec, TOGETHER)
        records += (
            FailingRecord.at(Place(*place), batch.id, reason) for place in sorted(places.collect())
        )
    return records


def _group(spec: Pipeline, entered: DataFrame) -> Column:
    """bigint over the stateful input: rows of one group have the same. As far as the keys and a
    tumbling window of the first step that groups are columns of it; else all rows are one group.
    """
    grouping = (each for each in spec.steps if each.grouping_keys is not None)
    parts = list[Column]()
    if (step := next(grouping, None)) is not None:
        parts += [F.col(key) for key in step.grouping_keys or () if key in entered.columns]
        if isinstance(step.grouping_window, Tumbling):
            size = step.grouping_window.size // timedelta(microseconds=1)
            at = F.unix_micros(spec.inputs.event_time)
            parts.append(at - F.pmod(at, F.lit(size)))
    return F.xxhash64(*parts) if parts else F.lit(0).cast("bigint")


def _spans(rows: DataFrame, by: Column) -> list[Span]:
    found = rows.groupBy(by).agg(F.min("g").alias("first"), F.max("g").alias("last"))
    return sorted((row["first"], row["last"]) for row in found.collect())


class Search:
    """The search by halves: single groups that were seen to fail, and no others."""

    def __init__(
        self,
        error_of: Callable[[int, int], DataError | None],
        groups_of: Callable[[int, int], list[Span]],
    ) -> None:
        self._error_of = error_of
        self._groups_of = groups_of
        self._trials = 0

    def failing(self, spans: list[Span], error: DataError) -> Iterator[tuple[int, DataError]]:
        """Of spans that fail together, as `error`, the groups that fail by themselves."""
        if len(spans) == 1:
            [(first, last)] = spans
            if first == last:
                yield first, error
                return
            spans = self._groups_of(first, last)
        middle = len(spans) // 2
        for half in (spans[:middle], spans[middle:]):
            if half and self._trials < MOST_TRIALS:
                self._trials += 1
                if (found := self._error_of(half[0][0], half[-1][1])) is not None:
                    yield from self.failing(half, found)
