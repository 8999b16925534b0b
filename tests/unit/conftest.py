"""Unit tests: no Spark, no broker, no Airflow."""

from hypothesis import settings

# A machine that is busy with Spark says nothing about the code by being slow.
settings.register_profile("sluice", deadline=None)
settings.load_profile("sluice")
