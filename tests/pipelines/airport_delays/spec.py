"""Running delays by airport: update mode.

A group that changed is merged into the table, on the columns that name it.
"""

from spark_jobs.spec import Aggregate, Pipeline, State
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="airport_delays",
    about="Flight events and the worst delay of each airport, since ever.",
    topic=FLIGHTS,
    steps=(
        Aggregate(
            keys=("origin",),
            measures={
                "flights": "count(*)",
                "miles": "sum(distance_miles)",
                "worst": "max(delay_minutes)",
            },
            counts="flights",
        ),
    ),
    output_mode="update",
    state=State(budget_rows=1000),
)
