"""Trial: runs the planned batch with some of its records, and commits nothing.

The query is the drain's, on its own checkpoint and state; its sink computes the rows and then
fails. So Spark commits neither the batch nor what it did to the state, as of any batch that fails.
Only where State.takes_trials: the batch itself then runs with other records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import StreamingQueryException

from spark_jobs.dataflow import dataflow
from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.source.sources import source_of
from spark_jobs.steps.timers import Timers
from spark_jobs.storage.root.path_forms import spark_url

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from spark_jobs.checkpoint.notes.failing import FailingRecords
    from spark_jobs.checkpoint.run import Run

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
