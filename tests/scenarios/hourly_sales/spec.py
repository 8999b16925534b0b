"""Sales by the hour, each counted once."""

from spark_jobs.spec import State
from tests.unit.specs import pipeline, topic

SPEC = pipeline(
    name="hourly_sales", topic=topic(max_ahead="1 hour"), state=State(shuffle_partitions=1)
)
