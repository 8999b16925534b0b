"""The worker's JVM: a Spark session for each drain, and nothing of a drain left behind it.

A new session has settings, views, functions and queries of its own. Java's objects that sessions
share, and the processes in which the JVM runs Python, are left as a new process has them.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from typing import Any, Final, Protocol

import psutil
from py4j.java_gateway import quiet_shutdown  # type: ignore[import-untyped]
from pyspark.accumulators import _accumulatorRegistry
from pyspark.sql import SparkSession

from spark_jobs.launch.processes import kill_others, lives, tree
from spark_jobs.launch.session import STATIC, state_stores
from spark_jobs.launch.submit import DAEMON

SPARKS_DAEMON: Final = "pyspark.daemon"
"""Runs Python data sources, whatever spark.python.daemon.module says."""
GONE_SECONDS: Final = 5.0
"""How long killed processes may take to be gone."""


class DaemonGone(RuntimeError):
    """A Python daemon has ended, and Spark does not know."""


class PythonWorkers:
    """Workers of one JVM, by its process id."""

    def __init__(self, jvm: int) -> None:
        self._jvm = jvm
        self._daemons = set[psutil.Process]()

    def end(self) -> None:
        """Kill the workers, which have loaded the pipeline's code; the daemons fork others."""
        killed = []
        for daemon in psutil.Process(self._jvm).children():
            with suppress(psutil.Error):
                words = daemon.cmdline()
                if DAEMON in words:
                    self._daemons.add(daemon)
                if DAEMON in words or SPARKS_DAEMON in words:
                    killed += daemon.children()
        for worker in killed:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        psutil.wait_procs(killed, GONE_SECONDS)

    def hold_daemons(self) -> None:
        """Raises DaemonGone if one that was there has ended, for want of memory perhaps.

        Spark would still ask it for an end of its idle workers, before it starts another daemon,
        and the drain would fail with "Stream closed" (stopWorker of its PythonWorkerFactory).
        """
        if gone := [each.pid for each in self._daemons if not lives(each)]:
            raise DaemonGone(f"its Python daemon is gone (process {gone[0]})")


class Spark(Protocol):
    """What a worker asks of its JVM."""

    def new_session(self) -> None:
        """Make a session that the next drain finds."""

    def clean(self) -> None:
        """Leave nothing of the drain behind."""

    def collect(self) -> None:
        """Collect all garbage."""

    def stop(self) -> None:
        """Stop it; it ends behind this process."""

    def kill(self) -> None:
        """End it at once, with whatever it has at work."""

    def memory_mb(self) -> int:
        """Megabytes of this process, its JVM, and all that the JVM has started."""


class Jvm:
    """The JVM of this process, with a Spark context."""

    def __init__(self, process: int | None = None) -> None:
        """Start the context, with the settings that no running session can change. `process` is the
        JVM's id, by default this process's parent.
        """
        self._process = process or os.getppid()
        self._python = PythonWorkers(self._process)
        builder = SparkSession.builder.appName("sluice worker")
        for key, value in STATIC.items():
            builder = builder.config(key, value)
        self._first = builder.getOrCreate()
        self._java: Any = self._first.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to Java's objects

    def new_session(self) -> None:
        """Make a session that the next drain finds (getOrCreate).

        Raises what the JVM raises, and DaemonGone: the drain would fail.
        """
        self._python.hold_daemons()
        made = self._first.newSession()
        SparkSession._instantiatedSession = made  # noqa: SLF001 - what getOrCreate looks at
        ours = self._java.org.apache.spark.sql.classic.SparkSession
        ours.setDefaultSession(made._jsparkSession)  # noqa: SLF001 - as above
        ours.setActiveSession(made._jsparkSession)  # noqa: SLF001

    def clean(self) -> None:
        """Leave nothing of the drain behind. Raises what the JVM raises, and DaemonGone."""
        session = SparkSession._instantiatedSession  # noqa: SLF001 - as above
        if session is not None:
            for query in session.streams.active:
                query.stop()
            session.catalog.clearCache()
        # RocksDB's memory, and maintenance: it would touch a checkpoint that is reset.
        state_stores(self._first).stop()
        # A table may be another one at the same path when the next drain opens it.
        _object(self._java, "org.apache.spark.sql.delta.DeltaLog$").clearCache()
        self._python.end()
        self._python.hold_daemons()
        # PySpark keeps each accumulator for ever, with what tasks have brought to it.
        _accumulatorRegistry.clear()
        self._end_callbacks()

    def _end_callbacks(self) -> None:
        """Py4J keeps the threads in which queries have called this process for ever, and what they
        called until Java has collected its side.
        """
        gateway: Any = self._first.sparkContext._gateway  # noqa: SLF001 - as above
        if gateway._callback_server is None:  # noqa: SLF001 - no query has called
            return
        for connection in [*gateway._callback_server.connections]:  # noqa: SLF001 - as above
            # One by which Python has called Java too. Java's finalizer has another, and needs it.
            if connection in gateway._gateway_client.deque:  # noqa: SLF001 - as above
                quiet_shutdown(connection.socket)
        gateway.gateway_property.pool.clear()

    def collect(self) -> None:
        """Collect all garbage of this process and its JVM: about a second.

        Left alone, the JVM collects what is old when its heap is full.
        """
        gc.collect()
        self._java.java.lang.System.gc()

    def stop(self) -> None:
        """Stop the context; the JVM ends behind this process."""
        self._first.stop()

    def kill(self) -> None:
        """SIGKILL to the JVM, and to all that it has started but this process."""
        kill_others(self._process, GONE_SECONDS)

    def memory_mb(self) -> int:
        """Megabytes of this process, its JVM, and all that the JVM has started."""
        return sum(map(_memory_bytes, {psutil.Process(), *tree(self._process)})) // 2**20


def _memory_bytes(process: psutil.Process) -> int:
    with suppress(psutil.Error):  # it has ended meanwhile
        return int(process.memory_info().rss)
    return 0


def _object(java: Any, name: str) -> Any:
    found = java
    for part in name.split("."):
        found = getattr(found, part)
    return getattr(found, "MODULE$")
