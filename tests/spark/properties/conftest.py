"""What every property test runs in."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.properties.attempt import Attempt

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="module", autouse=True)
def expressions(spark: SparkSession) -> Iterator[None]:
    """Compiling each case's plan would take a third of its time; every other test here runs compiled, as a drain does."""
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield
    for name in INTERPRETED:
        spark.conf.unset(name)


@pytest.fixture(scope="module")
def attempt(kafka: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Attempt:
    """Tries a form on a case."""
    return Attempt(kafka, spark, lambda: tmp_path_factory.mktemp("batching"), thorough="SLUICE_CASES" in os.environ)
