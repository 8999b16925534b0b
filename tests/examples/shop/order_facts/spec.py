"""Orders with their payment, and their customer as of the order's time."""

from spark_jobs.spec import Deduplicate, Join, Lookup, Pipeline, Ranges, Schedule
from tests.examples.shop.inputs import COUNTRIES, CUSTOMERS, ORDERS, PAYMENTS

SPEC = Pipeline(
    name="order_facts",
    about="Orders with their payment and customer.",
    topics=(ORDERS, PAYMENTS),
    watermark_delay="2 hours",
    steps=(
        Join(
            left="shop.orders",
            right="shop.payments",
            on={"order_id": "order"},
            within=("0 seconds", "2 hours"),
            how="left",
            before={
                "shop.orders": (Deduplicate(keys=("order_id",)),),
                "shop.payments": (Deduplicate(keys=("order",)),),
            },
            prefix="paid_",
        ),
        Lookup(dimension=CUSTOMERS, on={"customer_id": "buyer"}),
        Lookup(dimension=COUNTRIES, on={"code": "country"}),
    ),
    schedule=Schedule(after="customers"),
    ranges=Ranges(repair="after drain"),
)
