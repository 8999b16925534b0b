"""Tours of an aircraft: events with no pause of six hours between.

Map state, timers that are deleted and set again.
"""

from spark_jobs.spec import Field, GroupState, Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="aircraft_tours",
    about="What each aircraft did between two pauses of six hours.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Transform(where="tail_number is not null"),
        GroupState(
            processor="Tours",
            keys=("tail_number",),
            output=(
                Field(name="tail_number", type="string"),
                Field(name="began_at", type="timestamp"),
                Field(name="ended_at", type="timestamp"),
                Field(
                    name="events",
                    type="bigint",
                    about="each event id once: the map drops copies by itself",
                ),
            ),
        ),
    ),
)
