"""A GroupState, and an aggregation of its output, which has an event time."""

from spark_jobs.spec import Aggregate, Field, GroupState, Pipeline, Transform, Tumbling
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="busy_days",
    about="How many aircraft each airport saw on each day.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Transform(sql="SELECT *, date(event_time) AS day FROM rows WHERE tail_number IS NOT NULL"),
        GroupState(
            processor="FirstOfDay",
            keys=("origin", "day", "tail_number"),
            output=(Field(name="origin", type="string"), Field(name="seen_at", type="timestamp")),
            event_time="seen_at",
        ),
        Aggregate(
            window=Tumbling(size="1 day"),
            keys=("origin",),
            measures={"aircraft": "count(*)"},
            counts="aircraft",
        ),
    ),
)
