"""A row for each service of an aircraft, due after every fourth event: state in buckets, which
forgets an aircraft that was serviced, behind a Deduplicate.
"""

from spark_jobs.spec import Deduplicate, Field, GroupState, Pipeline, State
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="services",
    about="Services of aircraft, one after every four events.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Deduplicate(keys=("event_id",)),
        GroupState(
            form="buckets",
            buckets=8,
            processor="services",
            keys=("carrier", "tail_number"),
            state=(Field(name="events", type="bigint"),),
            output=(
                Field(name="carrier", type="string"),
                Field(name="tail_number", type="string", required=False),
            ),
            time_mode="none",
        ),
    ),
    state=State(budget_rows=100_000),
)
