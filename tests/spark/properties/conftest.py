"""What every property test runs in."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from tests.spark.properties.attempt import Attempt


@pytest.fixture(scope="module")
def attempt(kafka: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Attempt:
    """Tries a form on a case."""
    return Attempt(
        kafka,
        spark,
        lambda: tmp_path_factory.mktemp("batching"),
        thorough="SLUICE_CASES" in os.environ,
    )
