"""An aircraft that was not seen for a while, by processing time: value state with a TTL.

The run still terminates.
"""

from spark_jobs.spec import Field, GroupState, Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="first_flights",
    about="Aircraft that come back after a pause of the clock.",
    topic=FLIGHTS,
    steps=(
        Transform(where="tail_number is not null"),
        GroupState(
            processor="Seen",
            keys=("tail_number",),
            output=(Field(name="tail_number", type="string"),),
            time_mode="processing",
        ),
    ),
)
