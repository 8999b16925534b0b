"""The newest flight of each tail number, without those whose newest flight was cancelled."""

from spark_jobs.spec import Latest, Pipeline
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="present_aircraft",
    about="The newest flight of each aircraft.",
    topic=FLIGHTS,
    steps=(
        Latest(keys=("tail_number",), order_by=("event_time", "event_id"), deletes="cancelled"),
    ),
)
