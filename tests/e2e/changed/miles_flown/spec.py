"""Miles by airport and hour; next, the farthest flight of the hour."""

from spark_jobs.spec import Aggregate, Pipeline, Tumbling
from spark_jobs.topics.flights import FLIGHTS

HOURS = Aggregate(
    window=Tumbling(size="1 hour"),
    keys=("origin",),
    measures={"flights": "count(*)", "miles": "sum(distance_miles)"},
    counts="flights",
)
SPEC = Pipeline(
    name="miles_flown",
    about="Miles by airport and hour.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(HOURS,),
)
NEXT = SPEC.model_copy(
    update={
        "steps": (
            HOURS.model_copy(
                update={
                    "measures": {
                        "flights": "count(*)",
                        "miles": "CAST(max(distance_miles) AS BIGINT)",
                    }
                }
            ),
        ),
        "state": SPEC.state.model_copy(update={"version": 2}),
    }
)
