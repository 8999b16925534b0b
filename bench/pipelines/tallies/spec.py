"""Records and minutes of each tail number, by a GroupState that gets rows."""

from spark_jobs.spec import Field, GroupState, Pipeline, State
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="tallies",
    about="Records and minutes of delay so far, by tail number.",
    topic=FLIGHTS,
    steps=(
        GroupState(
            processor="Tally",
            keys=("tail_number",),
            output=(
                Field(name="tail_number", type="string"),
                Field(name="records", type="bigint"),
                Field(name="minutes", type="bigint"),
            ),
            time_mode="none",
        ),
    ),
    state=State(budget_rows=10_000_000),
)
