"""The shipped flight_events, on a test's topic."""

from spark_jobs.pipelines.flight_events.spec import SPEC as SHIPPED
from tests.harness.pipelines import on_the_tests_topic

SPEC = on_the_tests_topic(SHIPPED)
