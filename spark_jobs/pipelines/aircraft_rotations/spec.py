"""How long an aircraft takes from one New York departure to its next, and when it stopped coming back."""

from spark_jobs.contract.checks import Check, within
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Deduplicate, GroupState, Transform
from spark_jobs.contract.topic import Field
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="aircraft_rotations",
    about="Each aircraft's departures from New York paired into rotations, and the aircraft that went unseen.",
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
                Field(name="outcome", type="string", about="rotation: it came back; unseen: not for logic.UNSEEN_AFTER"),
                Field(name="departed_from", type="string", about="airport of the departure that opened the rotation"),
                Field(name="flew_to", type="string"),
                Field(name="departed_at", type="timestamp"),
                Field(name="next_from", type="string", required=False, about="airport of the next departure"),
                Field(name="next_departed_at", type="timestamp", required=False),
                Field(name="minutes_between", type="bigint", required=False, about="from departure to next departure"),
                Field(name="closed_at", type="timestamp", about="event time at which the row became known"),
            ),
        ),
    ),
    output_checks=(
        Check(type="expect_column_values_to_be_in_set", kwargs={"column": "outcome", "value_set": ["rotation", "unseen"]}),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "minutes_between", "min_value": 0, "max_value": 2880},
            about="longer than logic.UNSEEN_AFTER would have closed the aircraft first",
        ),
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "minutes_between", "min_value": 60},
            severity="warning",
            about="an hour is too short to fly anywhere and back: look for tail numbers in use twice",
        ),
    ),
    state_checks=(
        within("malformed_share", 0.02, about="a producer changed its format: see sluice show quarantine"),
    ),
)
