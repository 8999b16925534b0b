"""Sink: Delta, exactly once: each batch is one commit, under a transaction id that names the generation and the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from spark_jobs import failpoint
from spark_jobs.contract.store import spark_url
from spark_jobs.limits import RunLimits
from spark_jobs.run import Run
from spark_jobs.sink import commit, history
from spark_jobs.sink.table import newest_batch, refuse_changed
from spark_jobs.steps.timers import Timers
from spark_jobs.storage.delta import open_table

HELD_MS = 3_600_000
"""Longer than the driver ever takes to stop a query."""


class Written(NamedTuple):
    """What one batch's commit wrote."""

    rows: int
    version: int


def start(rows: DataFrame, run: Run, limits: RunLimits, timers: Timers) -> StreamingQuery:
    """Start the query: it takes what Kafka holds now, as far as the limits of the run allow, and stops."""
    writer = rows.writeStream.outputMode(run.spec.output_mode).queryName(run.spec.name)
    writer = writer.foreachBatch(_writer(run, limits, timers))
    return writer.option("checkpointLocation", spark_url(run.target.checkpoint)).trigger(availableNow=True).start()


def _writer(run: Run, limits: RunLimits, timers: Timers) -> Callable[[DataFrame, int], None]:
    """Write a batch, in the way of the output mode, under its transaction id: generation and batch.

    Not Delta's own streaming sink: that skips a batch which it has already committed without running it. After a crash between
    the table's commit and the checkpoint's, state would then miss the batch, and with state checkpoint format 2 Spark cannot go
    on at all (CheckpointInfo length: 0). So a batch that is already in the table is run once more, for its state alone.
    """
    target, way = run.target, commit.way(run.spec)

    def write(batch: DataFrame, batch_id: int) -> None:
        if not limits.admit(run.checkpoint.batch(batch_id)):
            _wait_to_be_stopped(batch.sparkSession)
        failpoint.at("planned")
        if newest_batch(target.table, target.owner) >= batch_id:
            batch.write.format("noop").mode("append").save()
        else:
            run.lease.confirm()
            refuse_changed(open_table(target.table), batch.schema)
            note = {"sluice": target.owner, "batch": batch_id, "run": run.run_id}
            way(batch, commit.Commit(spark_url(target.table), target.owner, batch_id, note))
        failpoint.at("table.committed")
        timers.note(batch_id)

    return write


def _wait_to_be_stopped(spark: SparkSession) -> None:
    """Sleep on the query's own thread in the JVM, which the driver's query.stop() interrupts.

    Spark takes the error that follows for a stop, and not for a failure, by what it says: StreamExecution.PROXY_ERROR. That
    expression runs out of stack on a message as long as Py4J's own, with its stack trace, so it is said again in short.
    """
    jvm: Any = spark._jvm  # noqa: SLF001
    try:
        jvm.java.lang.Thread.sleep(HELD_MS)
    except Py4JJavaError:
        raise RuntimeError("py4j.protocol.Py4JJavaError: An error occurred while calling z:java.lang.Thread.sleep.\n"
                           ": java.lang.InterruptedException: sleep interrupted") from None


def written(run: Run, since_batch: int) -> dict[int, Written]:
    """Batch id -> what its commit wrote, for this generation's batches from `since_batch` on; from the table's own history."""
    found: dict[int, Written] = {}
    for batch_id, entry in history.commits(run.target.table, run.target.owner):
        if batch_id < since_batch:
            break
        metrics = entry["operationMetrics"]
        rows = sum(int(metrics.get(name, 0)) for name in commit.ROWS[entry["operation"]])
        found[batch_id] = Written(rows, int(entry["version"]))
    return found
