"""What every property test runs in."""

import os

import pytest

from tests.spark.properties.attempt import Attempt


@pytest.fixture(scope="module")
def attempt(kafka, spark, tmp_path_factory) -> Attempt:
    """Tries a form on a case."""
    return Attempt(
        kafka,
        spark,
        lambda: tmp_path_factory.mktemp("batching"),
        thorough="SLUICE_CASES" in os.environ,
    )
