"""Cluster: the session of a run whose executors are elsewhere, and an end in words where the cluster gives none.

Spark itself waits for both for ever: for a master that does not let the application in, and for an executor to give a task to.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from spark_jobs.contract.errors import ClusterUnreachable, NoExecutors, SluiceError
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import State
from spark_jobs.launch.session import STATIC, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)
CONNECT_SECONDS = 5.0
"""How long a machine may take to accept a connection."""
POLL_SECONDS = 0.5
LOG_EVERY_SECONDS = 10.0
AUTHENTICATED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.io.encryption.enabled": "true",
}
"""Who has no secret is not let in; what goes over the network, and what is spilled to disk, is encrypted."""


class Cluster:
    """The installation's master. As a context manager it asks for executors at once, while the run finds out what it is to do.

    In local mode it does nothing but to make the session.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self._name, self._settings = name, settings
        self._failed = list[Exception]()
        self._joining: threading.Thread | None = None
        self._watch: ExecutorWatch | None = None

    def __enter__(self) -> Self:
        """Raises ClusterUnreachable where nothing listens at the master's address."""
        if not self._settings.local:
            _require_master(self._settings.master)
            # A thread of its own: it is left alone where the master does not let it in.
            self._joining = threading.Thread(target=self._join, name="join", daemon=True)
            self._joining.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Raises NoExecutors, whatever the block has failed with, where it failed for want of them."""
        if self._watch is not None:
            self._watch.end()
            if error is not None and self._watch.problem is not None:
                raise self._watch.problem from None

    def session(self, state: State) -> SparkSession:
        """The session, which has executors as long as the block runs. Raises ClusterUnreachable."""
        if self._joining is not None:
            self._await(self._joining)
        spark = session(self._name, state, self._settings.root)
        if self._joining is not None:
            self._watch = ExecutorWatch(spark, self._name, self._settings)
        return spark

    def _join(self) -> None:
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - only a run needs Spark

        try:
            told = {**STATIC, **secret_conf(self._settings)}
            SparkContext.getOrCreate(SparkConf().setAppName(f"sluice {self._name}").setAll([*told.items()]))
        except Exception as error:  # noqa: BLE001 - told by whoever waits for it
            self._failed.append(error)

    def _await(self, joining: threading.Thread) -> None:
        began, limit, master = time.monotonic(), int(self._settings.executor_wait), self._settings.master
        while joining.is_alive() and (waited := time.monotonic() - began) < limit:
            joining.join(min(LOG_EVERY_SECONDS, limit - waited))
            if joining.is_alive():
                LOG.info("%s: waits for Spark's master %s, %.0f s", self._name, master, time.monotonic() - began)
        if joining.is_alive():
            raise ClusterUnreachable(f"{master} does not let this run in: no answer within {limit} s.", _remedy(self._settings))
        if self._failed:
            raise ClusterUnreachable(f"{master} turned this run away: {_first_line(self._failed[0])}.", _remedy(self._settings))


def _remedy(settings: Settings) -> str:
    if settings.spark_secret_file:
        return f"Its secret may be another than that in {settings.spark_secret_file}, or it has none. See the master's log."
    return "It may ask for a secret: name the file with it in SLUICE_SPARK_SECRET_FILE. See the master's log."


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300].rstrip(".")


def secret_conf(settings: Settings) -> dict[str, str]:
    """What the secret's file leads to, for the session's configuration.

    It is set by this process in its own JVM, which it reaches over loopback: so it is on no command line and in no file that
    Sluice writes. Spark gives it to standalone executors in their environment, and redacts it wherever it shows configuration.
    spark.authenticate.secret.file would do on Kubernetes alone (SecurityManager.secretKeyFromFile), and _SPARK_AUTH_SECRET not
    in a driver (initializeAuth asks the configuration). On YARN and Kubernetes Spark makes a secret for each application.
    """
    if not settings.spark_secret_file:
        return {}
    if not settings.master.startswith("spark://"):
        return AUTHENTICATED
    secret = Path(settings.spark_secret_file).read_text(encoding="utf-8").strip()
    return {**AUTHENTICATED, "spark.authenticate.secret": secret}


def _require_master(master: str) -> None:
    """Raise ClusterUnreachable where nothing listens on any of a standalone cluster's masters."""
    if not master.startswith("spark://"):
        return
    said = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
                return
        except (OSError, ValueError, OverflowError) as error:
            said.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise ClusterUnreachable(f"no master of {master} is there ({'; '.join(said)}).",
                             "Start it, or correct the address: spark://host:port, several masters separated by commas.")


class ExecutorWatch:
    """Looks whether there are any, from a thread of its own; where a job has none for too long, it ends the application.

    A run that has no job for them is left alone: with dynamic allocation they go while the driver works by itself.
    Whoever waits for a task to be done fails then, and finds in `problem` what to say instead.
    """

    def __init__(self, spark: SparkSession, name: str, settings: Settings) -> None:
        self.problem: SluiceError | None = None
        self._context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001 - who is there has no Python form
        self._executor_size = _executor_size(spark)
        self._name, self._master, self._limit = name, settings.master, int(settings.executor_wait)
        self._over = threading.Event()
        threading.Thread(target=copy_context().run, args=(self._watch,), name="executors", daemon=True).start()

    def end(self) -> None:
        """Look no more."""
        self._over.set()

    def _watch(self) -> None:
        since, told, ever = time.monotonic(), 0.0, False
        with suppress(Exception):  # the JVM is gone: others tell of that
            while not self._over.wait(POLL_SECONDS):
                waited = time.monotonic() - since
                if self._context.getExecutorIds().size():
                    if told:
                        LOG.info("%s: an executor is there after %.0f s", self._name, waited)
                    since, told, ever = time.monotonic(), 0.0, True
                elif not len(self._context.statusTracker().getActiveJobIds()):
                    since, told = time.monotonic(), 0.0
                elif waited >= self._limit:
                    self._give_up(ever=ever)
                    return
                elif waited - told >= LOG_EVERY_SECONDS:
                    told = waited
                    which = "another" if ever else "a first"
                    LOG.info("%s: waits for %s executor of %s, %.0f s", self._name, which, self._master, waited)

    def _give_up(self, *, ever: bool) -> None:
        what = "the last executor is gone, and no other came" if ever else "no executor came"
        self.problem = NoExecutors(
            f"{what} within {self._limit} s on {self._master}; each is to have {self._executor_size}.",
            "See whether workers are alive and have so much free; ask for less (spark.executor.memory, spark.executor.cores), "
            "or wait longer (SLUICE_EXECUTOR_WAIT).")
        self._context.stop()


def _executor_size(spark: SparkSession) -> str:
    conf = spark.sparkContext.getConf()
    cores = conf.get("spark.executor.cores")
    many = f"{cores} cores" if cores else "all cores of its worker"
    return f"{conf.get('spark.executor.memory', '1g')} of memory and {many}"
