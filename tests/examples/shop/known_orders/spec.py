"""Orders of customers who are known at the order's time. Others wait in quarantine."""

from spark_jobs.spec import Deduplicate, Lookup, Pipeline, unmatched_share
from tests.examples.shop.inputs import COUNTRIES, CUSTOMERS, ORDERS

SPEC = Pipeline(
    name="known_orders",
    about="Orders of known customers.",
    topic=ORDERS,
    watermark_delay="2 hours",
    steps=(
        Lookup(dimension=CUSTOMERS, on={"customer_id": "buyer"}, missing="quarantine"),
        Deduplicate(keys=("order_id",)),
        Lookup(dimension=COUNTRIES, on={"code": "country"}),
    ),
    state_checks=(unmatched_share("countries", 0.5),),
)
