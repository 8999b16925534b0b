"""Replay: the canonical result of the steps from a GroupState on.

Spark runs a GroupState as a streaming query only: in a batch query its event-time timers never
fire, and applyInPandasWithState is refused. So each GroupState has a query of its own, whose
micro-batch 0 holds its whole input; the steps between and behind are batch queries
(steps/canonical/chain.py). So no row is late anywhere (`_stream`), no order matters, and no
watermark passes from one stateful step to the next.

Then come closing batches, which Sluice plans in the offset log with the watermark that it wants, as
a drain does for a silent topic (checkpoint/no_data_batch.py): Spark finds a batch that is planned
and not committed, and runs it; its source may be files as well as Kafka.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.no_data_batch import NoDataBatch
from spark_jobs.errors import ProcessorFailed
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.spec import Pipeline
from spark_jobs.spec.duration import interval
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.steps.canonical.chain import Counted, canonical_output, event_time, next_group_state
from spark_jobs.steps.chain import held
from spark_jobs.steps.operator import StepContext, operator
from spark_jobs.steps.timers import Timers
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.path_forms import spark_pattern, spark_url
from spark_jobs.values.own_columns import KAFKA, own
from spark_jobs.values.spans import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath


def replay(  # noqa: PLR0913 - the parts of one computation
    spark: SparkSession,
    spec: Pipeline,
    rows: DataFrame,
    sides: Mapping[str, DataFrame],
    first: int,
    root: UPath,
    folder: UPath,
    until: datetime,
    *,
    counted: Counted | None = None,
    moved: bool = False,
) -> DataFrame:
    """The rows that leave the last step. `rows` enter the step `first`, a GroupState, in any order
    and without copies that a Deduplicate before it would drop.

    Each GroupState gets all of its rows before any timer, under watermark 0; then the watermark is
    `until`, or what the newest row leads to if that is later, and its timers fire. What a processor
    yields for times outside of the range is for the caller to leave out.

    `folder` is emptied first: what an earlier try left, which was killed or failed, is never
    continued. The rows that are returned lie in it in part.
    `sides`, `counted`, `moved`: as canonical_output has them.

    Raises SluiceError.
    """
    if folder.exists():
        folder.fs.rm(folder.path, recursive=True)
    # A JVM that has used a state store's path refuses it later, even if it is empty again
    # (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY).
    attempt = folder / uuid.uuid4().hex[:12]
    index = first
    while index < len(spec.steps):
        query = OneBatch(spark, spec, index, sides, root, attempt / str(index))
        rows = query.output(rows, until)
        following = next_group_state(spec, index + 1)
        rows = canonical_output(rows, spec, sides, index + 1, following, counted, moved=moved)
        index = following
    return rows


LOG = logging.getLogger(__name__)
MOST_CLOSING = 100
"""Closing batches before a processor is taken for one that sets timers without end."""
SPARKS_OWN = "spark.sql.streaming.noDataMicroBatches.enabled"
WATERMARK = own("watermark")
"""The column that has the watermark."""


class OneBatch:
    """The query of one GroupState. `folder` is empty, and no state store of this JVM was there."""

    def __init__(
        self,
        spark: SparkSession,
        spec: Pipeline,
        index: int,
        sides: Mapping[str, DataFrame],
        root: UPath,
        folder: UPath,
    ) -> None:
        step = spec.steps[index]
        assert step.by_code  # analysis/ranged.py refuses those that no range can compute
        assert mode_facts(spec.output_mode).writes_evicted
        # With an event time column Spark refuses rows behind the watermark, for the sake of a
        # stateful step that follows in the same query. Here none does.
        step = step.model_copy(update={"event_time": None})
        self._spark = spark
        self._spec = spec
        self._step = step
        self._input, self._output = folder / "input", folder / "output"
        self._checkpoint = Checkpoint(folder / "spark")
        self._event_time = event_time(spec, index)
        self._timers = Timers(spark)
        hidden = WATERMARK if step.needs_watermark else None
        self._context = StepContext(
            spec, index, self._event_time, sides, root, self._timers, hidden
        )

    def output(self, rows: DataFrame, until: datetime) -> DataFrame:
        """The rows that the processor yields until the watermark is `until` and no timer is due."""
        rows = held(rows.drop(KAFKA), self._spec, self._context.step_index, self._event_time)
        rows.write.parquet(spark_url(self._input))
        with _without_batches_of_sparks_own(self._spark):
            self._run(rows)
            up_to_ms = -((EPOCH - until) // timedelta(milliseconds=1))  # rounded up
            watermark_ms = max(up_to_ms, self._checkpoint.next_watermark_ms(0))
            self._close(rows, watermark_ms)
        schema = operator(self._step).apply(self._stream(rows), self._context).schema
        read = self._spark.read.schema(schema).option("__globPaths__", "false")
        return read.parquet(spark_url(self._output))

    def _close(self, rows: DataFrame, watermark_ms: int) -> None:
        """Run closing batches until no timer can be due: one that a processor sets while others
        fire, at a time that the watermark has passed too, fires in the batch after.
        """
        for _ in range(MOST_CLOSING):
            closing = NoDataBatch(watermark_ms, "all rows are in state")
            batch = no_data_batch.write(self._checkpoint, closing, datetime.now(UTC))
            timers_set = self._run(rows)
            fired = sum(self._timers.fired[batch].values())
            LOG.info("%s: %d timers fired in closing batch %d", self._spec.name, fired, batch)
            if not fired or not timers_set:
                return
        raise ProcessorFailed.timers_endless(
            pipeline=self._spec.name,
            processor=self._step.logic,
            batches=MOST_CLOSING,
        )

    def _run(self, rows: DataFrame) -> int:
        """How many timers the processor has set in the batch."""
        groups = operator(self._step).apply(self._stream(rows), self._context)
        query = (
            groups.writeStream.outputMode(self._spec.output_mode)
            .queryName(f"{self._spec.name} replay")
            .foreachBatch(self._write)
            .option("checkpointLocation", spark_url(self._checkpoint.folder))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except Exception as error:
            lost = self._timers.init_errors.take()
            raise translate_error(error, self._spec.name, lost) from error
        finally:
            query.stop()
        # Of applyInPandasWithState Spark does not say: it refuses time-outs behind the watermark.
        operators = query.lastProgress.stateOperators if query.lastProgress else []
        return sum(int(each.customMetrics.get("numRegisteredTimers", 0)) for each in operators)

    def _stream(self, rows: DataFrame) -> DataFrame:
        """The rows with a watermark, none of them late in batch 0.

        Spark's watermark is never below 1970 (PropagateWatermarkSimulator), and a step drops the
        rows whose column with a watermark is not after it (WatermarkSupport). So that column is not
        the event time but a copy, in which every time is after 1970 began. transformWithState needs
        none of its own; applyInPandasWithState does (UnsupportedOperationChecker).
        """
        stream = self._spark.readStream.schema(rows.schema).parquet(spark_pattern(self._input))
        delay = interval(self._spec.watermark_delay or timedelta())
        after_1970_began = F.timestamp_micros(F.lit(1))
        copy = F.greatest(F.col(self._event_time), after_1970_began)
        stream = stream.withColumn(WATERMARK, copy).withWatermark(WATERMARK, delay)
        return stream if self._context.hidden else stream.drop(WATERMARK)

    def _write(self, batch: DataFrame, batch_id: int) -> None:
        batch.write.mode("append").parquet(spark_url(self._output))
        failpoint.at("replaying")
        self._timers.close_batch(batch_id)


@contextmanager
def _without_batches_of_sparks_own(spark: SparkSession) -> Iterator[None]:
    """By batches of Spark's own the timers would fire under another watermark first."""
    before = spark.conf.get(SPARKS_OWN, None)
    spark.conf.set(SPARKS_OWN, "false")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(SPARKS_OWN)
        else:
            spark.conf.set(SPARKS_OWN, before)
