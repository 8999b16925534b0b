"""Each customer's versions, by the changes that Debezium writes."""

from spark_jobs.spec import Field, History, Pipeline, Topic

CHANGES = Topic(
    name="shop.customers",
    event_time="changed_at",
    fields=(
        Field(name="customer_id", type="string"),
        Field(name="lsn", type="bigint"),
        Field(name="changed_at", type="timestamp"),
        Field(name="op", type="string"),
        Field(name="country", type="string", required=False),
        Field(name="segment", type="string", required=False),
    ),
)
SPEC = Pipeline(
    name="customers",
    about="The versions of each customer.",
    topic=CHANGES,
    steps=(
        History(
            keys=("customer_id",), order_by=("lsn",), valid_from="changed_at", deletes="op = 'd'"
        ),
    ),
)
