"""Departure delays by hour, carrier and airport.

Each row is written once, when the watermark has passed the hour.
"""

from spark_jobs.spec import Aggregate, Check, Deduplicate, Pipeline, Transform, Tumbling, within
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="departure_delays",
    about="Flights, delays and cancellations by departure hour, carrier and origin.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Transform(where="event_type = 'departure'"),
        Deduplicate(keys=("event_id",)),
        Aggregate(
            window=Tumbling(size="1 hour"),
            keys=("carrier", "origin"),
            measures={
                "flights": "count(*)",
                "mean_delay_minutes": "avg(delay_minutes)",
                "max_delay_minutes": "max(delay_minutes)",
                "cancellations": "count_if(cancelled)",
            },
            counts="flights",
        ),
    ),
    output_checks=(
        Check(type="expect_column_values_to_not_be_null", kwargs={"column": "carrier"}),
        Check(
            type="expect_column_values_to_be_in_set",
            kwargs={"column": "origin", "value_set": ["EWR", "JFK", "LGA"]},
        ),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "flights", "min_value": 1, "max_value": 200},
        ),
        Check(
            type="expect_column_pair_values_a_to_be_greater_than_b",
            kwargs={"column_A": "flights", "column_B": "cancellations", "or_equal": True},
            about="an hour has no more cancellations than flights",
        ),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "max_delay_minutes", "min_value": -120, "max_value": 1440},
            severity="warning",
        ),
    ),
    state_checks=(
        within(
            "malformed_share",
            0.02,
            about="a producer may have changed its format: see sluice show quarantine",
        ),
        within(
            "watermark_lag_seconds",
            4 * 3600,
            about="only the windows of the last hours should be open",
        ),
    ),
)
