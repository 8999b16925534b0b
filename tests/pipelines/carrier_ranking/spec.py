"""Totals by carrier: complete mode. Every batch writes the whole result anew."""

from spark_jobs.spec import Aggregate, Pipeline, State
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="carrier_ranking",
    about="Flight events, miles and the worst delay of each carrier, since ever.",
    topic=FLIGHTS,
    steps=(
        Aggregate(
            keys=("carrier",),
            measures={
                "flights": "count(*)",
                "miles": "sum(distance_miles)",
                "worst": "max(delay_minutes)",
            },
            counts="flights",
        ),
    ),
    output_mode="complete",
    state=State(budget_rows=1000),
)
