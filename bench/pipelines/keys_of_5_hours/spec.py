"""The shipped pipeline with a delay of 150 minutes, and so with the ids of five hours in its state:
a Deduplicate keeps an id until the watermark has passed its time and the delay.

Each bench/pipelines/keys_of_... has a topic of its own. An hour has more flights there than New
York's, and the watermark lags behind by the delay, so those checks are not there.
"""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Pipeline, State

SPEC = Pipeline(
    name="keys_of_5_hours",
    about="Departure delays, with the ids of five hours in the state.",
    topic=SHIPPED.topic.model_copy(update={"name": "keys_of_5_hours"}),
    watermark_delay="150 minutes",
    steps=SHIPPED.steps,
    output_checks=tuple(check for check in SHIPPED.output_checks if check.columns != ("flights",)),
    state=State(budget_bytes=2**33),
)
