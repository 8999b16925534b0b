"""The seats that each aircraft moved on a day: its key reaches the table, so a correction of some
aircraft finds their days there.
"""

from bench.pipelines.delays_with_seats.spec import LOOKUP
from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Aggregate, Pipeline, Tumbling

SPEC = Pipeline(
    name="seats_by_day",
    about="Flights and seats of each aircraft and day.",
    topic=SHIPPED.topic.model_copy(update={"name": "flights_of_a_year"}),
    watermark_delay=SHIPPED.watermark_delay,
    steps=(
        LOOKUP,
        SHIPPED.steps[1],
        Aggregate(
            window=Tumbling(size="1 day"),
            keys=("tail_number",),
            measures={"flights": "count(*)", "seats": "sum(seats)"},
            counts="flights",
        ),
    ),
)
