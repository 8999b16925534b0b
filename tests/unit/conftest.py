"""Unit tests: no Spark, no broker, no Airflow."""

import os

from hypothesis import settings

# A machine that is busy with Spark says nothing about the code by being slow. The same cases every time, but in the long form.
settings.register_profile("sluice", deadline=None, derandomize="SLUICE_CASES" not in os.environ, database=None)
settings.load_profile("sluice")
