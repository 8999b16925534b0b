"""Running totals by carrier, from totals that another system left: value state, update mode, an
initial state.
"""

from spark_jobs.spec import Field, GroupState, Pipeline, State
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="carrier_totals",
    about="Flight events and miles by carrier, since ever.",
    topic=FLIGHTS,
    steps=(
        GroupState(
            processor="Totals",
            keys=("carrier",),
            output=(
                Field(name="carrier", type="string"),
                Field(name="events", type="bigint"),
                Field(name="miles", type="bigint"),
            ),
            time_mode="none",
        ),
    ),
    output_mode="update",
    state=State(budget_rows=1000),
)
