"""The time from an aircraft's departure from New York to its next one, and aircraft that do not
return.
"""

from spark_jobs.spec import (
    Check,
    Deduplicate,
    Field,
    GroupState,
    Pipeline,
    Ranges,
    Transform,
    within,
)
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="aircraft_rotations",
    about="Each aircraft's departures from New York, paired into rotations, and the unseen "
    "aircraft.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Transform(where="event_type = 'departure' and not cancelled and tail_number is not null"),
        Deduplicate(keys=("event_id",)),
        GroupState(
            processor="Rotations",
            keys=("tail_number",),
            output=(
                Field(name="tail_number", type="string"),
                Field(
                    name="outcome",
                    type="string",
                    about="rotation: it departed again; unseen: not in logic.UNSEEN_AFTER",
                ),
                Field(
                    name="departed_from",
                    type="string",
                    about="airport of the departure that opened the rotation",
                ),
                Field(name="flew_to", type="string"),
                Field(name="departed_at", type="timestamp"),
                Field(
                    name="next_from",
                    type="string",
                    required=False,
                    about="airport of the next departure",
                ),
                Field(name="next_departed_at", type="timestamp", required=False),
                Field(
                    name="minutes_between",
                    type="bigint",
                    required=False,
                    about="from departure to next departure",
                ),
                Field(
                    name="closed_at",
                    type="timestamp",
                    about="event time at which the row became known",
                ),
            ),
        ),
    ),
    # A row is known at most 48 hours (logic.UNSEEN_AFTER) after the departure that opened it.
    ranges=Ranges(by="closed_at", context="48 hours"),
    output_checks=(
        Check(
            type="expect_column_values_to_be_in_set",
            kwargs={"column": "outcome", "value_set": ["rotation", "unseen"]},
        ),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "minutes_between", "min_value": 0, "max_value": 2880},
            about="after logic.UNSEEN_AFTER, 2,880 minutes, the aircraft is unseen",
        ),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "minutes_between", "min_value": 60},
            severity="warning",
            about="an hour is too short for a flight and its return: look for a tail number that "
            "two aircraft use",
        ),
    ),
    state_checks=(
        within(
            "malformed_share",
            0.02,
            about="a producer may have changed its format: see sluice show quarantine",
        ),
    ),
)
