"""Writer: starts the query and writes each batch to Delta exactly once, in one commit with a
transaction id.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from spark_jobs.checkpoint.run import Run
from spark_jobs.errors.carried import carried
from spark_jobs.steps.late_rows import plan_of_batch, refuse_late_rows
from spark_jobs.steps.timers import Timers
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table.entry import OfBatch

STOP_WAIT_MS = 3_600_000
"""Longer than the driver ever takes to stop a query."""


MOST_BEHIND = 50
"""Batches that the audit may be behind the query: Spark keeps the progress and the log entries of
the last 100, and the audit needs both.
"""
HELD_MS = 50
"""How long a batch waits before it looks again how far the audit is."""


def start(
    rows: DataFrame,
    run: Run,
    admit: Callable[[int], bool],
    timers: Timers,
    audited: Callable[[], int],
) -> StreamingQuery:
    """Start the query with availableNow: it reads what Kafka holds now, as far as it is allowed,
    and stops. `admit` says whether a batch, by its id, may run; `audited` gives the last batch that
    is accounted for.
    """
    writer = rows.writeStream.outputMode(run.spec.output_mode).queryName(run.spec.name)
    writer = writer.foreachBatch(_writer(run, admit, timers, audited))
    return (
        writer.option("checkpointLocation", spark_url(run.target.checkpoint))
        .trigger(availableNow=True)
        .start()
    )


def _writer(
    run: Run, admit: Callable[[int], bool], timers: Timers, audited: Callable[[], int]
) -> Callable[[DataFrame, int], None]:
    """The function for foreachBatch: lets the table commit a batch with owner and batch id.

    It replaces Delta's streaming sink, which skips a batch that it has already committed without
    running it. After a crash between the table's commit and the checkpoint's, state would then miss
    the batch, and with state checkpoint format 2 Spark cannot continue (CheckpointInfo length: 0).
    So a batch that is already in the table runs again, only for its state.
    """
    target = run.target
    first = count()

    @carried()
    def write(batch: DataFrame, batch_id: int) -> None:
        if next(first) == 0:  # each batch of a query has the same plan
            refuse_late_rows(plan_of_batch(run.spark), run.spec)
        if not admit(batch_id):
            # The batch stays planned and uncommitted. The driver sees that a limit is reached and
            # stops the query, which interrupts this sleep (runs/query.py).
            _sleep(batch.sparkSession, STOP_WAIT_MS)
        # Spark would drop the progress of batches that the audit still needs.
        while batch_id - audited() > MOST_BEHIND:
            _sleep(batch.sparkSession, HELD_MS)
        failpoint.at("planned")
        if target.table.newest_batch(target.owner) >= batch_id:
            batch.write.format("noop").mode("append").save()
        else:
            run.lease.confirm()
            target.table.refuse_changed(batch.schema)
            most = run.checkpoint.batch(batch_id).covered
            of = OfBatch(target.owner, batch_id, run.run_id, most)
            try:
                target.table.commit(batch, run.spec, of, run.lease)
            except Exception:
                run.lease.confirm()  # for want of it the log store refuses the commit
                raise
        failpoint.at("table.committed")
        timers.close_batch(batch_id)

    return write


def _sleep(spark: SparkSession, milliseconds: int) -> None:
    """Sleep on the query's thread in the JVM, where the driver's query.stop() interrupts it.

    Spark recognises the error that follows as a stop by its text: StreamExecution.PROXY_ERROR. That
    regular expression overflows the stack on Py4J's own message, which has a stack trace. So the
    error is raised again with a short message.
    """
    jvm: Any = spark._jvm  # noqa: SLF001
    try:
        jvm.java.lang.Thread.sleep(milliseconds)
    except Py4JJavaError:
        raise RuntimeError(
            "py4j.protocol.Py4JJavaError: An error occurred while calling "
            "z:java.lang.Thread.sleep.\n"
            ": java.lang.InterruptedException: sleep interrupted"
        ) from None
