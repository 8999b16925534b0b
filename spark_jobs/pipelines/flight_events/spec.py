"""Flight events without duplicates: Kafka delivers at least once, this table has each
event once.
"""

from spark_jobs.spec import Check, Deduplicate, Pipeline, Rule, within
from spark_jobs.topics.flights import FLIGHTS

RULES = (Rule(name="under_ten_hours", sql="delay_minutes < 600", on_failure="warn"),)
SPEC = Pipeline(
    name="flight_events",
    about="Departures and arrivals, deduplicated on the event id within the watermark.",
    topic=FLIGHTS.model_copy(update={"rules": RULES}),
    watermark_delay="2 hours",
    steps=(Deduplicate(keys=("event_id",)),),
    output_checks=(
        Check(
            type="expect_column_values_to_be_in_set",
            kwargs={"column": "event_type", "value_set": ["departure", "arrival"]},
        ),
        Check(
            type="expect_column_values_to_be_unique",
            kwargs={"column": "event_id"},
            about="no duplicates within a run",
        ),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "delay_minutes", "min_value": -120, "max_value": 1440},
            severity="warning",
            about="a delay of more than a day is possible, but rare",
        ),
    ),
    state_checks=(
        within(
            "malformed_share",
            0.02,
            about="a producer may have changed its format: see sluice show quarantine",
        ),
        within(
            "state_growth",
            1.0,
            severity="critical",
            about="deduplication adds at most one key for each input row",
        ),
    ),
)
