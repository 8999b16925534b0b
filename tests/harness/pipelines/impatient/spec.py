"""The shipped flight_events, which gives up soon: for the test in which the JVM stands still."""

from datetime import timedelta

from spark_jobs.pipelines.flight_events.spec import SPEC as SHIPPED
from tests.harness.pipelines import on_the_tests_topic

SPEC = on_the_tests_topic(
    SHIPPED.model_copy(
        update={"name": "impatient", "stall_timeout": timedelta(seconds=15), "output_checks": ()}
    )
)
