"""Airports that heard nothing for half an hour, for the test that puts the clock an hour off."""

from spark_jobs.spec import Pipeline
from tests.harness.pipelines import on_the_tests_topic
from tests.pipelines.quiet_gates.spec import SPEC as QUIET

(STEP,) = QUIET.steps
SPEC = on_the_tests_topic(
    Pipeline(
        name="silent_gates",
        about="Airports from which nothing came for half an hour.",
        topic=QUIET.topic,
        steps=(STEP.model_copy(update={"processor": "Silent"}),),
    )
)
