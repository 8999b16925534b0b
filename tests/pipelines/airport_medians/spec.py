"""The median delay by airport and day, when the day is over: pandas, list state, and a query before
the state.
"""

from spark_jobs.spec import Field, GroupState, Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="airport_medians",
    about="The median delay of each airport and day.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Transform(
            sql="SELECT *, date(event_time) AS day FROM rows WHERE delay_minutes IS NOT NULL"
        ),
        GroupState(
            form="pandas",
            processor="Medians",
            keys=("origin", "day"),
            output=(
                Field(name="origin", type="string"),
                Field(name="day", type="date"),
                Field(name="events", type="bigint"),
                Field(name="median_delay_minutes", type="double"),
            ),
        ),
    ),
)
