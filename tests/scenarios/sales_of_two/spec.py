"""Sales of two topics by region, which shops have, with the region's manager."""

from spark_jobs.spec import Dimension, Field, Lookup, State
from tests.unit.specs import FIELDS, aggregate, deduplicate, pipeline, topic

REGIONS = Dimension(
    name="regions", table="/regions", key=("shop",), fields=(Field(name="region", type="string"),)
)
MANAGERS = Dimension(
    name="managers",
    table="/managers",
    key=("region",),
    fields=(Field(name="manager", type="string"),),
)
SPEC = pipeline(
    name="sales_of_two",
    topic=None,
    topics=(
        topic(name="eu"),
        topic(name="us", fields=(*FIELDS[:3], Field(name="amount", type="bigint", path="cents"))),
    ),
    watermark_delay="1 hour",
    steps=(
        Lookup(dimension=REGIONS, on={"shop": "shop"}, missing="quarantine"),
        deduplicate(),
        aggregate(keys=("topic", "region")),
        Lookup(dimension=MANAGERS, on={"region": "region"}),
    ),
    state=State(shuffle_partitions=1),
)
