"""The present row of each order, which has a place in its source's log."""

from spark_jobs.spec import Field, Latest, State, Transform
from tests.unit.specs import pipeline, topic

FIELDS = (
    Field(name="id", type="string"),
    Field(name="at", type="timestamp"),
    Field(name="lsn", type="bigint", required=False),
    Field(name="op", type="string"),
    Field(name="status", type="string", required=False),
)
SPEC = pipeline(
    name="orders_now",
    topic=topic(fields=FIELDS),
    watermark_delay=None,
    steps=(
        Transform(where="id <> 'a test'"),
        Latest(keys=("id",), order_by=("lsn",), deletes="op = 'd'"),
    ),
    state=State(shuffle_partitions=1),
)
