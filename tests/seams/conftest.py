"""The Spark session, the broker and the scenes of tests/spark, for the toys too."""

from tests.spark.conftest import as_submitted, kafka, registry_url, scene, spark

__all__ = ["as_submitted", "kafka", "registry_url", "scene", "spark"]
