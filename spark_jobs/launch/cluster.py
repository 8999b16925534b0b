"""Cluster: the session of a run with executors on other machines, and a clear error if the cluster
gives none.

Spark itself waits without end for a master that does not accept the application, and for an
executor to run a task on.
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

from spark_jobs.errors import ClusterUnreachable, NoExecutors, SluiceError
from spark_jobs.launch.session import STATIC, Sessions
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)
CONNECT_SECONDS = 5.0
"""How long a machine may take to accept a connection."""
POLL_SECONDS = 0.5
"""How often to look whether there are executors."""
LOG_EVERY_SECONDS = 10.0
"""How often to log that the run waits."""
AUTHENTICATED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.io.encryption.enabled": "true",
}
"""Only processes with the secret may connect.

Network traffic and files spilled to disk are encrypted.
"""


class Cluster(Sessions):
    """Its master is asked for executors at once, while the run does its preflight."""

    def __init__(self, name: str, settings: Settings) -> None:
        super().__init__(name, settings)
        self._failed = list[Exception]()
        self._watch: ExecutorWatch | None = None
        # A daemon: it stays blocked if the master does not accept the application.
        self._joining = threading.Thread(target=self._join, name="join", daemon=True)

    def __enter__(self) -> Self:
        """Raises ClusterUnreachable if nothing listens at the master's address."""
        _require_master(self._settings.master)
        self._joining.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raises NoExecutors in place of the block's error if the watch ended the application for
        lack of executors.
        """
        if self._watch is not None:
            self._watch.end()
            if error is not None and self._watch.problem is not None:
                raise self._watch.problem from None

    def session(self, state: State) -> SparkSession:
        """Its executors are watched until the block ends. Raises ClusterUnreachable."""
        self._await(self._joining)
        spark = super().session(state)
        self._watch = ExecutorWatch(spark, self._name, self._settings)
        return spark

    def _join(self) -> None:
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - only a run needs Spark

        try:
            conf = {**STATIC, **secret_conf(self._settings)}
            SparkContext.getOrCreate(
                SparkConf().setAppName(f"sluice {self._name}").setAll([*conf.items()])
            )
        except Exception as error:  # noqa: BLE001 - _await raises it
            self._failed.append(error)

    def _await(self, joining: threading.Thread) -> None:
        began = time.monotonic()
        limit = int(self._settings.executor_wait)
        master = self._settings.master
        while joining.is_alive() and (waited := time.monotonic() - began) < limit:
            joining.join(min(LOG_EVERY_SECONDS, limit - waited))
            if joining.is_alive():
                LOG.info(
                    "%s: waits for Spark's master %s, %.0f s",
                    self._name,
                    master,
                    time.monotonic() - began,
                )
        if joining.is_alive():
            raise ClusterUnreachable.no_answer(
                master=master,
                limit=limit,
                remedy=_remedy(self._settings),
            )
        if self._failed:
            raise ClusterUnreachable.turned_away(
                master=master,
                answer=_first_line(self._failed[0]),
                remedy=_remedy(self._settings),
            )


def _remedy(settings: Settings) -> str:
    if settings.spark_secret_file:
        return (
            f"Its secret may be another than that in {settings.spark_secret_file}, or it has "
            "none. See the master's log."
        )
    return (
        "It may ask for a secret: name the file with it in SLUICE_SPARK_SECRET_FILE. See the "
        "master's log."
    )


def _first_line(error: Exception) -> str:
    return next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )[:300].rstrip(".")


def secret_conf(settings: Settings) -> dict[str, str]:
    """Spark's settings for the secret in `spark_secret_file`: Spark's name -> value; empty without
    a file.

    This process sets the secret in its own JVM, which it reaches over loopback. So the secret is on
    no command line and in no file that Sluice writes. Spark gives it to standalone executors in
    their environment, and redacts it wherever it shows configuration.
    spark.authenticate.secret.file works on Kubernetes only (SecurityManager.secretKeyFromFile), and
    _SPARK_AUTH_SECRET does not work in a driver (initializeAuth reads the configuration). On YARN
    and Kubernetes Spark makes a secret for each application.
    """
    if not settings.spark_secret_file:
        return {}
    if not settings.master.startswith("spark://"):
        return AUTHENTICATED
    secret = Path(settings.spark_secret_file).read_text(encoding="utf-8").strip()
    return {**AUTHENTICATED, "spark.authenticate.secret": secret}


def _require_master(master: str) -> None:
    if not master.startswith("spark://"):
        return
    failures = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
                return
        except (OSError, ValueError, OverflowError) as error:
            failures.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise ClusterUnreachable.no_master(master=master, failures="; ".join(failures))


class ExecutorWatch:
    """Watches the executors in a thread.

    If a job has had none for SLUICE_EXECUTOR_WAIT, it ends the application.

    Without an active job it does nothing: dynamic allocation removes executors while the driver
    works alone. The call that waits for the job then fails with Spark's error; `problem` has the
    one to raise in its place.
    """

    def __init__(self, spark: SparkSession, name: str, settings: Settings) -> None:
        self.problem: SluiceError | None = None
        self._context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no method for it; a Java object, so Any
        conf = spark.sparkContext.getConf()
        cores = conf.get("spark.executor.cores")
        cores_each = f"{cores} cores" if cores else "all cores of its worker"
        self._executor_size = (
            f"{conf.get('spark.executor.memory', '1g')} of memory and {cores_each}"
        )
        self._name = name
        self._master = settings.master
        self._limit = int(settings.executor_wait)
        self._over = threading.Event()
        threading.Thread(
            target=copy_context().run, args=(self._watch,), name="executors", daemon=True
        ).start()

    def end(self) -> None:
        """Stop watching."""
        self._over.set()

    def _watch(self) -> None:
        since = time.monotonic()
        logged = 0.0
        had_any = False
        with suppress(Exception):  # the JVM is gone: the call that uses it fails
            while not self._over.wait(POLL_SECONDS):
                waited = time.monotonic() - since
                if self._context.getExecutorIds().size():
                    if logged:
                        LOG.info("%s: an executor is there after %.0f s", self._name, waited)
                    since = time.monotonic()
                    logged = 0.0
                    had_any = True
                elif not len(self._context.statusTracker().getActiveJobIds()):
                    since = time.monotonic()
                    logged = 0.0
                elif waited >= self._limit:
                    self._give_up(had_any=had_any)
                    return
                elif waited - logged >= LOG_EVERY_SECONDS:
                    logged = waited
                    which = "another" if had_any else "a first"
                    LOG.info(
                        "%s: waits for %s executor of %s, %.0f s",
                        self._name,
                        which,
                        self._master,
                        waited,
                    )

    def _give_up(self, *, had_any: bool) -> None:
        what = "The last executor is gone, and no other came" if had_any else "No executor came"
        self.problem = NoExecutors.none_came(
            what=what,
            seconds=self._limit,
            master=self._master,
            size=self._executor_size,
        )
        self._context.stop()
