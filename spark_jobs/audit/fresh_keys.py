"""Fresh keys: how many rows a Deduplicate must have let through in a batch whose progress is lost.

Its keys among the batch's records in Kafka, without the keys that its state had before the batch.
So the table's rows are held against Kafka and the state; neither knows of the table.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.pins import inputs_of
from spark_jobs.checkpoint.run import Run
from spark_jobs.dataflow import dataflow
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.state.reader import start_coordinator
from spark_jobs.state.store_columns import store_columns
from spark_jobs.steps.chain import is_late
from spark_jobs.storage.root.path_forms import state_url


def fresh_keys(run: Run, spec: Pipeline, batch: Batch) -> int | None:
    """None if the first stateful step is no Deduplicate of named columns, or if the state before
    the batch cannot be read.
    """
    keys = spec.entry and spec.entry.distinct_by
    if not keys:
        return None
    if batch.id > 0 and batch.id - 1 not in run.checkpoint.readable():
        return None
    found = _accepted(run, spec, batch).select(*keys).distinct()
    if batch.id == 0:
        return found.count()
    known = _known(run, batch.id - 1)
    same = [found[name].eqNullSafe(known[name]) for name in keys]
    return found.join(known, same, "left_anti").count()


def _accepted(run: Run, spec: Pipeline, batch: Batch) -> DataFrame:
    records = source_of(spec, run.settings).read(run.spark, batch.parts)
    failing = read_failing(run.target.failing).reasons
    inputs = inputs_of(batch.id, run.checkpoint, spec, run.settings)
    entered = dataflow(
        records, spec, run.settings, inputs, clock_ms=batch.clock_ms or None, failing=failing
    )
    return entered.stateful_input.where(~is_late(spec, batch.late_before_ms))


def _known(run: Run, batch: int) -> DataFrame:
    checkpoint = state_url(run.target.checkpoint)
    start_coordinator(run.spark)
    # Spark numbers operators from the sink to the source.
    first = sum(each.stateful for each in run.spec.steps) - 1
    stored = (
        run.spark.read.format("statestore")
        .option("batchId", batch)
        .option("operatorId", first)
        .load(checkpoint)
    )
    columns = store_columns(stored, "dedupe", None)
    return stored.select(
        *(column.expression.alias(column.name) for column in columns if column.role == "key")
    )
