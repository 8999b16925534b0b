"""The Spark session, the broker and the scenes of tests/spark, for the toys too."""

from pathlib import Path

import pytest

from tests.spark.conftest import as_submitted, kafka, registry_url, scene, spark

__all__ = ["as_submitted", "kafka", "registry_url", "scene", "spark"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """As those of tests/spark: what libraries warn of is shown, and no error."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))
