"""The last hour, every twenty minutes: sliding windows.

An event is in three, and can be late for the first of them only.
"""

from spark_jobs.spec import Aggregate, Pipeline, Sliding
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="busy_runways",
    about="What each carrier did in an hour, every twenty minutes.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Aggregate(
            window=Sliding(size="1 hour", slide="20 minutes"),
            keys=("carrier",),
            measures={
                "flights": "count(*)",
                "miles": "sum(distance_miles)",
                "worst": "max(delay_minutes)",
            },
            counts="flights",
        ),
    ),
)
