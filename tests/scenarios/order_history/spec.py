"""Each state that an order has had, and when."""

from spark_jobs.spec import History, State
from tests.scenarios.orders_now.spec import FIELDS
from tests.unit.specs import pipeline, topic

SPEC = pipeline(
    name="order_history",
    topic=topic(fields=FIELDS),
    watermark_delay=None,
    steps=(History(keys=("id",), order_by=("lsn",), deletes="op = 'd'", valid_from="at"),),
    state=State(shuffle_partitions=1),
)
