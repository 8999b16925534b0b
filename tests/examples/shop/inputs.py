"""What several pipelines of the shop read."""

from spark_jobs.spec import Dimension, Field, Topic

ORDERS = Topic(
    name="shop.orders",
    event_time="at",
    fields=(
        Field(name="order_id", type="string"),
        Field(name="at", type="timestamp", path="ordered_at"),
        Field(name="buyer", type="string", required=False),
        Field(name="amount", type="decimal(12,2)", format="text"),
    ),
)
PAYMENTS = Topic(
    name="shop.payments",
    event_time="at",
    fields=(
        Field(name="order", type="string", path="order_id"),
        Field(name="at", type="timestamp", path="paid_at"),
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
    table="countries.csv",
    key=("code",),
    fields=(Field(name="country_name", type="string", path="name"),),
)
