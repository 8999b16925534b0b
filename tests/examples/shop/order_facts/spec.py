"""Orders with their customer, as of the order's time, and with the name of its country."""

from spark_jobs.spec import Deduplicate, Dimension, Field, Lookup, Pipeline, Topic, unmatched_share

ORDERS = Topic(
    name="shop.orders",
    event_time="ordered_at",
    fields=(
        Field(name="order_id", type="string"),
        Field(name="ordered_at", type="timestamp"),
        Field(name="buyer", type="string", required=False),
        Field(name="amount", type="decimal(12,2)", format="text"),
    ),
)
CUSTOMERS = Dimension(
    table="customers",
    key=("customer_id",),
    valid=("valid_from", "valid_to"),
    fields=(
        Field(name="country", type="string"),
        Field(name="segment", type="string", required=False),
    ),
)
COUNTRIES = Dimension(
    table="order_facts/countries.csv",
    key=("code",),
    fields=(Field(name="country_name", type="string", path="name"),),
)
SPEC = Pipeline(
    name="order_facts",
    about="Orders with their customer.",
    topic=ORDERS,
    watermark_delay="2 hours",
    steps=(
        Lookup(dimension=CUSTOMERS, on={"customer_id": "buyer"}, missing="quarantine"),
        Deduplicate(keys=("order_id",)),
        Lookup(dimension=COUNTRIES, on={"code": "country"}),
    ),
    state_checks=(unmatched_share("countries", 0.5),),
)
