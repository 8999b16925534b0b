"""The Spark session of a run, with the settings that a running session takes, each with its reason.

Spark's other settings are in submit.py, spark_side.py and scratch.py (set before the JVM starts),
values/pinned.py and values/pinned.py (those that change results), root/store.py (the object
store), cluster.py (a cluster's secret) and table/delta/commit.py (the transaction of each commit).
What a user may not set is in spec/spark_options.py: a new setting of Sluice's own belongs there
too.

At a port of this process Spark's JVM says that a batch is to be written. Py4J asks nobody there who
he is: any user of the machine could end the query, or have a batch written. The JVM has a secret
for it, and Py4J's Java side loses it where the port is told (PythonClient.copyWith, py4j 0.10.9.9).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]
from pyspark.java_gateway import ensure_callback_server_started

from spark_jobs.errors import JarsMissing, SettingInvalid
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import State
from spark_jobs.storage.root.store import is_s3
from spark_jobs.values import pinned as language
from spark_jobs.values.pinned import FAMILIES, PINNED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def within(seconds: float, work: Callable[[], object]) -> str:
    """Do the work in a thread. Returns why it is not done; empty if it is.

    The thread of work that takes longer goes on: only for a process that ends then.
    """
    problem = [f"it is not done within {seconds:g} s"]

    def do() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the work is not done
            problem[0] = f"{type(error).__name__}: {error}"
        else:
            problem[0] = ""

    thread = threading.Thread(target=do, name="limited", daemon=True)
    thread.start()
    thread.join(seconds)
    return problem[0]


LOG = logging.getLogger(__name__)
_STATE = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "rocksdb": _STATE + "RocksDBStateStoreProvider",
    "hdfs": _STATE + "HDFSBackedStateStoreProvider",
}

STATIC = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Set once, when the session is made: a running session cannot change them."""
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
"""The class that writes a checkpoint's files.

Spark's default renames them, which an object store cannot.
"""

CLOSE_SECONDS = 15.0
"""How long a process waits at its end for stores that close."""
STORE_FORM = 1
"""What sluice.store.ConditionalLogStore must say of itself. Raise both numbers where another class
would let a commit pass that these refuse.
"""


def dynamic(state: State) -> dict[str, str]:
    """Settings of one pipeline's state that a running session takes: Spark's name -> value."""
    return {
        **PINNED,
        # The first batch fixes it in the checkpoint. Each partition of each stateful step is a
        # store to open and commit.
        "spark.sql.shuffle.partitions": str(state.shuffle_partitions),
        "spark.sql.streaming.stateStore.providerClass": PROVIDERS[state.provider],
        "spark.sql.streaming.stateStore.checkpointFormatVersion": str(state.format),
        # Of a join of two streams: one store a partition, as other steps have, and not four. Only
        # RocksDB can. The first batch fixes it in the checkpoint.
        "spark.sql.streaming.join.stateFormatVersion": "3" if state.provider == "rocksdb" else "2",
        # Each commit writes a snapshot, not a changelog. Every scheduled run restarts the query. A
        # run that ends before the maintenance thread wakes (60 s) would leave only changelogs, and
        # each later run would replay them all from the first. Measured in bench/.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
        # By default Delta reads its log with 50 tasks. The logs of these tables are small.
        "spark.databricks.delta.snapshotPartitions": "1",
        # By default Spark writes Parquet's deprecated INT96 (rejected/rejected_store.py).
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # A table that takes any column that is written would hide a change of the spec.
        "spark.databricks.delta.schema.autoMerge.enabled": "false",
        # No plan of this Spark version shows the reader's options, which include passwords and
        # keys. If one did, this would redact them.
        "spark.sql.redaction.options.regex": r"(?i)url|kafka\.(sasl|ssl)\.",
        # By default Spark waits without end for a query that does not stop.
        "spark.sql.streaming.stopTimeout": "60s",
        # The audit reads progress and log entries while the query runs, and may be MOST_BEHIND
        # batches behind (sink/writer.py). Not more: each progress holds up to BUDGET bytes of
        # rejected records (decode/raw_filter.py).
        "spark.sql.streaming.numRecentProgressUpdates": "100",
        "spark.sql.streaming.minBatchesToRetain": "100",
    }


def session(name: str, state: State, root: str = "") -> SparkSession:
    """The Spark session of this process, with the settings for one pipeline's state and for its
    root, a folder or URL. Raises SettingInvalid for a JVM of another language or time zone,
    JarsMissing for one on S3 with an older sluice-files.jar.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only a run needs Spark

    from spark_jobs.values.spark_times import make_total  # noqa: PLC0415 - as above

    builder = SparkSession.builder.appName(f"sluice {name}")
    for key, value in {**STATIC, **dynamic(state)}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    require_secret(spark.sparkContext._gateway)  # noqa: SLF001 - no Python form
    make_total()
    _require_language(spark)
    _drop_inherited(spark, state)
    _drop_cluster_defaults(spark)
    if is_s3(root):
        _require_store(spark)
        spark.conf.set(CHECKPOINTS, "sluice.store.ConditionalCheckpoints")
    else:  # a session may serve several roots: the tests' does
        spark.conf.unset(CHECKPOINTS)
    return spark


def state_stores(spark: SparkSession) -> Any:
    """Spark's object StateStore: the state stores that are open in this JVM."""
    java = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to its JVM
    return getattr(getattr(java, f"{_STATE}StateStore$"), "MODULE$")


def close_stores() -> None:
    """Close them, at the end of a process: a thread of RocksDB that is at work when the JVM ends
    kills it by a signal (facebook/rocksdb#5595), and the run would count as failed. Not beside a
    query that did not stop. A store that waits for a disk holds the process for a moment alone.
    """

    def close() -> None:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only a run needs Spark

        spark = SparkSession._instantiatedSession  # noqa: SLF001 - the active one is another thread's
        if spark is not None and not spark.streams.active:
            state_stores(spark).stop()

    with suppress(Exception, KeyboardInterrupt):  # the run has ended, as its report says
        within(CLOSE_SECONDS, close)


def _require_language(spark: SparkSession) -> None:
    """Raise SettingInvalid if the JVM has not what values/pinned.py says."""
    system = spark.sparkContext._jvm.System  # type: ignore[union-attr]  # noqa: SLF001 - no Python form
    for name, value in language.JAVA.items():
        if (found := system.getProperty(name)) != value:
            raise SettingInvalid.locale_overridden(
                variable=language.OVERRIDES[0], name=name, found=found, value=value
            )


def _require_store(spark: SparkSession) -> None:
    """Raise JarsMissing if the class that writes Delta's log is not the one of this Sluice: an
    older one lets a commit pass whose lease is another's.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # noqa: PLC0415 - only a run needs Spark

    store: Any = spark.sparkContext._jvm.sluice.store.ConditionalLogStore  # type: ignore[union-attr]  # noqa: SLF001 - no Python form
    try:
        found = store.form()
    except (Py4JError, TypeError):  # no such method, or no such class
        found = None
    if found != STORE_FORM:
        raise JarsMissing.files_jar_stale()


def _drop_inherited(spark: SparkSession, state: State) -> None:
    """Set what spark-defaults.conf says of a family, and Sluice does not, to Spark's default."""
    ours = dynamic(state)
    # getConf() would copy every entry, with a call to the JVM for each.
    conf = spark.sparkContext._conf  # noqa: SLF001
    for line in conf.toDebugString().splitlines():
        name, _, value = line.partition("=")
        if name.startswith(FAMILIES) and name not in ours and spark.conf.isModifiable(name):
            LOG.warning(
                "%s=%s of spark-defaults.conf is not used: it changes results or recovery",
                name,
                value,
            )
            spark.conf.unset(name)


def _drop_cluster_defaults(spark: SparkSession) -> None:
    """Leave out of Hadoop's configuration what Hadoop's own files say of YARN and of MapReduce.

    It has 1,400 entries, and 530 without them. Spark copies it for each query and writes it into
    many tasks: a tenth of the JVM's work in a warm drain of few records. Without the jar of
    spark_jobs/java, and on YARN, they stay.
    """
    context: Any = spark.sparkContext
    if not context.master.startswith("yarn"):
        with suppress(TypeError):  # without the jar it is the name of a package, and no class
            context._jvm.sluice.hadoop.ClusterDefaults.drop(  # noqa: SLF001 - no Python form
                context._jsc.hadoopConfiguration()  # noqa: SLF001
            )


def require_secret(gateway: Any) -> None:
    """Open the port, for who has the secret with which this process calls the JVM."""
    if gateway._callback_server is not None:  # noqa: SLF001 - as PySpark looks
        return
    secret = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = secret
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    java = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()  # noqa: SLF001
    field = java.getClass().getSuperclass().getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(java, secret)


CLUSTER: Final = "spark_jobs.launch.cluster:Cluster"
"""What has executors on other machines, and waits for them."""


class Sessions:
    """The session's place, for a block of a run. This one has all of Spark in one process."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is left open."""

    def session(self, state: State) -> SparkSession:
        """The Spark session."""
        return session(self._name, state, self._settings.root)


def sessions_of(name: str, settings: Settings) -> Sessions:
    """By the installation's master."""
    made: Sessions = (Sessions if settings.local else resolve_name(CLUSTER))(name, settings)
    return made
