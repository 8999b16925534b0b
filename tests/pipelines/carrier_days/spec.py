"""Events by carrier and day, by applyInPandasWithState: one state and one time-out a key; a
function before the state.
"""

from spark_jobs.spec import Field, GroupState, Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="carrier_days",
    about="What each carrier flew on each day.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Transform(function="with_day"),
        GroupState(
            form="apply",
            processor="days",
            keys=("carrier", "day"),
            state=(Field(name="events", type="bigint"), Field(name="miles", type="bigint")),
            output=(
                Field(name="carrier", type="string"),
                Field(name="day", type="string"),
                Field(name="events", type="bigint"),
                Field(name="miles", type="bigint"),
            ),
        ),
    ),
)
