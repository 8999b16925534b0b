"""Where each aircraft is now: its newest departure or arrival, with its airline's name.

A cancelled flight takes the aircraft's row away, until it flies again. What comes late, twice or
out of order changes nothing that is newer.
"""

from spark_jobs.spec import (
    Check,
    Dimension,
    Field,
    Latest,
    Lookup,
    Pipeline,
    Transform,
    within,
)
from spark_jobs.topics.flights import FLIGHTS

AIRLINES = Dimension(
    name="airlines",
    table="aircraft_now/airlines.csv",
    key=("code",),
    fields=(Field(name="airline", type="string", path="name"),),
)
AIRPORTS = Dimension(
    name="airports",
    table="aircraft_now/airports.csv",
    key=("code",),
    fields=(Field(name="destination_airport", type="string", path="name"),),
)
SPEC = Pipeline(
    name="aircraft_now",
    about="The newest departure or arrival of each aircraft; none while its flight is cancelled.",
    topic=FLIGHTS,
    steps=(
        Transform(where="tail_number is not null"),
        Lookup(dimension=AIRLINES, on={"code": "carrier"}),
        Lookup(dimension=AIRPORTS, on={"code": "destination"}),
        Latest(
            keys=("tail_number",),
            # Of two events at one time the id decides, wherever they are in Kafka.
            order_by=("event_time", "event_id"),
            deletes="cancelled",
        ),
    ),
    output_checks=(
        Check(
            type="expect_column_values_to_be_unique",
            kwargs={"column": "tail_number"},
            about="an aircraft has one row",
        ),
        Check(
            type="expect_column_values_to_be_in_set",
            kwargs={"column": "event_type", "value_set": ["departure", "arrival"]},
        ),
        *(
            Check(
                type="expect_column_values_to_not_be_null",
                kwargs={"column": column},
                severity="warning",
                about=f"{file} lacks the code of a flight",
            )
            for column, file in (
                ("airline", "airlines.csv"),
                ("destination_airport", "airports.csv"),
            )
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
