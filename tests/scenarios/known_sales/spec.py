"""Sales with their shop's city of their time. A shop may be known later than its sales."""

from spark_jobs.spec import Dimension, Field, Lookup, State
from tests.unit.specs import aggregate, deduplicate, pipeline

SHOPS = Dimension(
    name="shops",
    table="/shops",
    key=("shop",),
    valid=("since", "until"),
    fields=(Field(name="city", type="string"),),
)
SPEC = pipeline(
    name="known_sales",
    steps=(
        Lookup(dimension=SHOPS, on={"shop": "shop"}, missing="quarantine"),
        deduplicate(),
        aggregate(keys=("city",)),
    ),
    state=State(shuffle_partitions=1),
)
