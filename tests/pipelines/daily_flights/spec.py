"""Days made of hours: three stateful steps in one pipeline.

Each gets its event time from the one before.
"""

from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Transform, Tumbling
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="daily_flights",
    about="Each airport's busiest hour of each day.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Deduplicate(keys=("event_id",)),
        Aggregate(
            window=Tumbling(size="1 hour"),
            keys=("origin",),
            measures={"events": "count(*)"},
            counts="events",
            event_time="hour_time",
        ),
        Transform(where="events > 1"),
        Aggregate(
            window=Tumbling(size="1 day"),
            keys=("origin",),
            measures={"hours": "count(*)", "events": "sum(events)", "most": "max(events)"},
        ),
    ),
)
