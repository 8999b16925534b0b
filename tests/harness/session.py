"""The Spark session that a lane's tests share: every drain in this process finds and uses it
(getOrCreate).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contract.settings import Settings
from spark_jobs.launch.session import STATIC
from spark_jobs.launch.submit import LOG_STORE, configuration, environment, s3_jars

SESSION = pytest.StashKey[SparkSession]()
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Spark compiles each query's expressions to bytecode otherwise: of a warm drain of few records a
sixth to a third of the time.

Every form of an operator also runs compiled, as a drain does, for docs/operators.md (the fixture
`compiled`); so do the drains that have processes of their own.
"""


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, kafka: str) -> Any:
    """One a process, however many conftests import this fixture."""
    stash = request.config.stash
    if SESSION not in stash:
        with surroundings(kafka):
            stash[SESSION] = start(Settings.from_environment(), **INTERPRETED)
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


def start(settings: Settings, **more: str) -> SparkSession:
    """Start Spark's JVM, with the environment that this process has now."""
    builder = SparkSession.builder.master("local[2]").appName("sluice tests")
    options = configuration(settings)
    for key, value in {**options, **LOG_STORE, **STATIC, **more}.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        # Where a root on S3 has them, behind all others: tests/store has no JVM of its own.
        patch.setenv("SPARK_DIST_CLASSPATH", f"{s3_jars(settings)}/*")
        session = builder.getOrCreate()
    # It says at exit that it closes its connections, when pytest has already closed the log.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    return session
