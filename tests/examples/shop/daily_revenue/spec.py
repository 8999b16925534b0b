"""What each day's orders brought, by the customer's country."""

from spark_jobs.spec import Aggregate, Pipeline, Ranges, Schedule, Table, Tumbling

SPEC = Pipeline(
    name="daily_revenue",
    about="Orders and their payments of a day and country.",
    topic=Table(of="order_facts", event_time="at"),
    watermark_delay="6 hours",
    steps=(
        Aggregate(
            window=Tumbling(size="1 day"),
            keys=("country",),
            counts="orders",
            measures={"orders": "count(*)", "revenue": "sum(paid_amount)"},
        ),
    ),
    schedule=Schedule(after="order_facts"),
    ranges=Ranges(repair="after drain"),
)
