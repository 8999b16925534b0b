"""Upkeep: what a run does at its end, so that later runs find no more than they need.

It removes state that no batch needs. What few runs have, a step that follows a key or superseded
generations, is loaded by name.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.identity import read_superseded
from spark_jobs.checkpoint.purge import purge
from spark_jobs.errors import CheckpointBroken
from spark_jobs.launch.session import state_stores
from spark_jobs.storage.root.path_forms import spark_url

if TYPE_CHECKING:
    from spark_jobs.checkpoint.run import Run


TAKE_OUT: Final = "spark_jobs.runs.resume.superseded:take_out_read_again"
LOG = logging.getLogger(__name__)


def purge_state(run: Run, query_run_id: str) -> None:
    """Remove the state that no batch needs any more. `query_run_id` as Query has it.

    A failure is logged: the run has ended well in all else, and the next one removes the same.
    """
    try:
        run.lease.confirm()  # without it, another run may write state now
        if query_run_id and run.spec.state.provider == "hdfs" and run.settings.local:
            _snapshot(run, query_run_id)
        if removed := purge(run.checkpoint, confirm=run.lease.confirm):
            LOG.info("%s: removed %d files of state that no batch needs", run.spec.name, removed)
    except Exception as error:  # noqa: BLE001 - whatever the file system or Spark says
        LOG.warning("%s: could not purge the state: %s", run.spec.name, error)


def forget_deletes(run: Run) -> None:
    """Of a table that follows a key and that `sluice maintain` cannot write."""
    if step := run.spec.keyed:
        resolve_name(step.forgets)(run, step)


def take_out_read_again(run: Run) -> None:
    """Call it when all committed batches have their accounts."""
    if note := read_superseded(run.paths):
        resolve_name(TAKE_OUT)(run, note)


def purge_after_failure(run: Run, error: Exception) -> None:
    """The same after a run that failed: one that commits and fails each time would keep all its
    state. Not beside a query that did not stop, and not where doctor may need what is there.
    """
    with suppress(Exception):  # what failed the run is told
        if not isinstance(error, CheckpointBroken) and not run.spark.streams.active:
            purge_state(run, "")


def _snapshot(run: Run, query_run_id: str) -> None:
    """Let each HDFS-backed store write a snapshot if it has more than some deltas since its last:
    every run replays them (spark.sql.streaming.stateStore.minDeltasForSnapshot, 10).

    Spark does so in its maintenance, which begins after 60 seconds, where the stores are: here, as
    long as Spark has no cluster (StateStore.doMaintenanceAndUnload).
    """
    jvm = run.spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to its JVM
    assert jvm is not None
    package = jvm.org.apache.spark.sql.execution.streaming.state
    state = run.checkpoint.folder / "state"
    path = jvm.org.apache.hadoop.fs.Path(spark_url(state))
    system = path.getFileSystem(run.spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
    root = system.makeQualified(path).toString()  # the name by which Spark knows the store
    query = jvm.java.util.UUID.fromString(query_run_id)
    for store in state.glob("*/*"):
        if store.name.isdigit():
            operator, partition = int(store.parent.name), int(store.name)
            identifier = package.StateStoreId(root, operator, partition, "default")
            state_stores(run.spark).doMaintenanceAndUnload(
                package.StateStoreProviderId(identifier, query)
            )
