"""What a worker's JVM keeps of a drain for the next one: nothing. Over the JVM of the tests' session."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from pyspark import accumulators
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark_jobs.decode import decoder
from spark_jobs.launch.submit import DAEMON
from spark_jobs.launch.warm.inside.jvm import Jvm
from tests.harness.long_form import long_form

pytestmark = long_form  # it changes the session that the tests of a lane share
LEAK = "spark.sql.shuffle.partitions"


@pytest.fixture
def jvm(spark) -> Iterator[Jvm]:
    """The session's JVM as a worker has it; afterwards the tests' session is found again."""
    yield Jvm(_java(spark))
    SparkSession._instantiatedSession = spark  # noqa: SLF001 - as the worker sets its own
    ours = spark._jvm.org.apache.spark.sql.classic.SparkSession  # noqa: SLF001
    ours.setDefaultSession(spark._jsparkSession)  # noqa: SLF001
    ours.setActiveSession(spark._jsparkSession)  # noqa: SLF001


def _java(spark: Any) -> int:
    """The process id of the session's JVM."""
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001 - Java knows its own


def workers(java: int) -> list[psutil.Process]:
    """The Python workers that have run a pipeline's code."""
    found = []
    for child in psutil.Process(java).children():
        with contextlib.suppress(psutil.Error):
            if DAEMON in child.cmdline():
                found += child.children()
    return found


def test_the_next_drain_finds_no_setting_view_store_or_python_worker_of_before(
    spark, jvm, scene, monkeypatch
):
    monkeypatch.setattr(decoder, "why_python", lambda *_: "its workers are asked for")
    one = scene("departure_delays", events=600, deliveries=2)
    one.deliver()
    java = _java(spark)
    jvm.new_session()
    first = SparkSession.builder.getOrCreate()
    assert first is not spark
    one.run("first")
    first.conf.set(LEAK, "77")
    first.conf.set("spark.sql.ansi.enabled", "false")
    first.sql("SELECT 1 AS a").createTempView("left_behind")
    states = spark._jvm.org.apache.spark.sql.execution.streaming.state  # noqa: SLF001 - no public way
    stores = getattr(getattr(states, "StateStore$"), "MODULE$")
    assert stores.isMaintenanceRunning()
    assert workers(java)

    jvm.clean()
    assert not stores.isMaintenanceRunning()
    assert workers(java) == []
    jvm.new_session()
    second = SparkSession.builder.getOrCreate()
    untouched = spark.newSession()  # other tests set things in the session itself
    assert second.conf.get(LEAK) == untouched.conf.get(LEAK) != "77"
    assert second.conf.get("spark.sql.ansi.enabled") == untouched.conf.get("spark.sql.ansi.enabled")
    with pytest.raises(AnalysisException):
        second.table("left_behind")

    one.deliver()
    one.run("second")
    jvm.clean()
    one.assert_exact()
    assert jvm.memory_mb() > 100


def test_a_query_what_it_kept_and_a_tables_snapshot_are_gone_behind_a_drain(jvm, tmp_path):
    path, log = str(tmp_path / "table"), "org.apache.spark.sql.delta.DeltaLog"
    jvm.new_session()
    first = SparkSession.builder.getOrCreate()
    first.range(3).write.format("delta").save(path)
    kept = first.range(5).persist()
    kept.count()
    query = first.readStream.format("rate").load().writeStream.format("noop").start()
    java: Any = first._jvm  # noqa: SLF001 - no public way
    manager = first._jsparkSession.sharedState().cacheManager()  # noqa: SLF001 - as above
    of_a_table = getattr(java, log).forTable

    def snapshots() -> Any:
        return of_a_table(first._jsparkSession, path)  # noqa: SLF001 - as above

    before = snapshots()
    assert before.equals(snapshots()), "else this is no proof"
    assert query.isActive
    assert not manager.isEmpty()

    jvm.clean()
    assert not query.isActive
    assert manager.isEmpty()
    shutil.rmtree(path)
    jvm.new_session()
    second = SparkSession.builder.getOrCreate()
    second.range(4).selectExpr("id AS other").write.format("delta").save(path)
    assert not before.equals(snapshots())
    assert second.read.format("delta").load(path).columns == ["other"]
    assert second.read.format("delta").load(path).count() == 4


def test_a_drain_leaves_no_thread_function_or_accumulator_in_python(jvm, scene):
    """Each would be one more with every drain, with its run behind it."""
    one = scene("departure_delays", events=200, deliveries=2)
    jvm.new_session()
    left = []
    for run in ("first", "second"):
        one.deliver()
        one.run(run)
        jvm.clean()
        assert not accumulators._accumulatorRegistry  # noqa: SLF001 - nothing else tells
        gateway = SparkSession.builder.getOrCreate().sparkContext._gateway  # noqa: SLF001 - as above
        assert not len(gateway.gateway_property.pool)
        used = gateway._gateway_client.deque  # noqa: SLF001 - as above
        until = time.monotonic() + 5
        while any(each in used for each in gateway._callback_server.connections):  # noqa: SLF001
            assert time.monotonic() < until, "the thread of the query lives"
            time.sleep(0.05)
        left.append(threading.active_count())
    assert left[1] <= left[0]
    one.assert_exact()
