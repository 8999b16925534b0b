"""The Spark session that a lane's tests share: every drain in this process finds and uses it."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from pyspark.sql import SparkSession

from spark_jobs.launch.scratch import Scratch
from spark_jobs.launch.session import STATIC
from spark_jobs.launch.submit import DAEMON, LOG_STORE, configuration, environment, s3_jars
from spark_jobs.settings.installation import Settings
from tests.harness.lanes import JVM

SESSION = pytest.StashKey[SparkSession]()
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Interpreted expressions and unadapted plans: a sixth to a third of a small drain's time."""


@pytest.fixture(scope="session")
def spark(request, kafka) -> Any:
    """One a process, however many conftests import this fixture."""
    stash = request.config.stash
    if SESSION not in stash:
        with surroundings(kafka):
            stash[SESSION] = start(Settings.from_environment(), **INTERPRETED)
        stash[JVM] = stash[SESSION].sparkContext._gateway.proc  # noqa: SLF001 - nothing public tells whether it lives
        request.config.add_cleanup(stash[SESSION].stop)
    return stash[SESSION]


@contextmanager
def surroundings(kafka: str) -> Iterator[pytest.MonkeyPatch]:
    """Within the block, the environment and the time zone of a process that spark-submit starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_KAFKA", kafka)
        for name, value in environment(Settings.from_environment()).items():
            patch.setenv(name, value)
        time.tzset()
        yield patch
    time.tzset()


def remember_names(kind: type[JVMView | JavaPackage | JavaClass]) -> None:
    """Let Python ask the JVM once what a name stands for: a twentieth of a warm drain's time."""
    ask = kind.__getattr__

    def asked_once(self: JVMView | JavaPackage | JavaClass, name: str) -> Any:
        found = ask(self, name)
        if isinstance(found, JavaClass | JavaPackage | JavaMember):
            self.__dict__[name] = found
        return found

    kind.__getattr__ = asked_once


remember_names(JVMView)
remember_names(JavaPackage)
remember_names(JavaClass)


def start(settings: Settings, **more: str) -> SparkSession:
    """Start Spark's JVM, with the environment that this process has now."""
    builder = SparkSession.builder.master("local[2]").appName("sluice tests")
    options = configuration(settings)
    daemon = {"spark.python.daemon.module": DAEMON}
    for key, value in {**options, **daemon, **LOG_STORE, **STATIC, **more}.items():
        builder = builder.config(key, value)
    made = Scratch(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.variables.items():
            patch.setenv(name, value)
        # Where a root on S3 has them, behind all others: tests/store has no JVM of its own.
        patch.setenv("SPARK_DIST_CLASSPATH", f"{s3_jars(settings)}/*")
        session = builder.getOrCreate()
    # It says at exit that it closes its connections, when pytest has already closed the log.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    return session
