"""Rushes: session windows. A rush is written when no event came for 15 minutes."""

from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Session
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="rush_hours",
    about="When each carrier was busy at each airport.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Deduplicate(keys=("event_id",)),
        Aggregate(
            window=Session(gap="15 minutes"),
            keys=("carrier", "origin"),
            measures={
                "flights": "count(*)",
                "miles": "sum(distance_miles)",
                "worst": "max(delay_minutes)",
            },
            counts="flights",
        ),
    ),
)
