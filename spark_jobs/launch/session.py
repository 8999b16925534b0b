"""The Spark session of a run: every Spark setting that Sluice makes is here, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.spec import State
from spark_jobs.contract.store import is_s3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATE = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {"rocksdb": _STATE + "RocksDBStateStoreProvider", "hdfs": _STATE + "HDFSBackedStateStoreProvider"}

STATIC = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Settled when the session is made."""
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
"""Who writes a checkpoint's files: Spark's default renames, which an object store cannot."""


def dynamic(state: State) -> dict[str, str]:
    """Settings that a running session can take, for one pipeline's state."""
    return {
        "spark.sql.session.timeZone": "UTC",
        # Frozen into the checkpoint by the first batch. Every partition of every stateful step is a store to open and commit.
        "spark.sql.shuffle.partitions": str(state.shuffle_partitions),
        "spark.sql.streaming.stateStore.providerClass": PROVIDERS[state.provider],
        "spark.sql.streaming.stateStore.checkpointFormatVersion": str(state.format),
        # A snapshot with every commit, no changelog. A scheduled run is a restart, and one that is over before the maintenance
        # thread wakes (60 s) would leave only changelogs, which every later run replays from the beginning. Measured in bench/.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
        # Delta reads its own log with 50 tasks by default; these tables' logs are small.
        "spark.databricks.delta.snapshotPartitions": "1",
        # No plan of this Spark shows the reader's options, among them passwords and keys. One that did would not show these.
        "spark.sql.redaction.options.regex": r"(?i)url|kafka\.(sasl|ssl)\.",
        # The audit reads each one while the query runs (AT_ONCE). They hold records that are to be kept (BUDGET).
        "spark.sql.streaming.numRecentProgressUpdates": "100",
        "spark.sql.streaming.minBatchesToRetain": "100",
    }


def session(name: str, state: State, root: str = "") -> SparkSession:
    """The session of this process, set for one pipeline's state, and for the place of the root."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only a run needs Spark

    builder = SparkSession.builder.appName(f"sluice {name}")
    for key, value in {**STATIC, **dynamic(state)}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if is_s3(root):
        spark.conf.set(CHECKPOINTS, "sluice.store.ConditionalCheckpoints")
    else:  # a session may serve several roots: the tests' does
        spark.conf.unset(CHECKPOINTS)
    return spark
