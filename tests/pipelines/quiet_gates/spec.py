"""Airports without an event for one second: processing-time timers.

Due timers fire once in each run.
"""

from spark_jobs.spec import Field, GroupState, Pipeline
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="quiet_gates",
    about="Airports from which nothing came for a while.",
    topic=FLIGHTS,
    steps=(
        GroupState(
            processor="Quiet",
            keys=("origin",),
            output=(
                Field(name="origin", type="string"),
                Field(name="events", type="bigint", about="since it was quiet last"),
            ),
            time_mode="processing",
        ),
    ),
)
