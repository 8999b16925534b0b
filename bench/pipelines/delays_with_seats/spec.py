"""The shipped pipeline, and the seats that were delayed: each flight's aircraft is looked up as of
the flight's time.
"""

import os

from bench.pipelines.delays_with_seats.place import PLACE
from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Aggregate, Dimension, Field, Lookup, Pipeline, Tumbling

AIRCRAFT = Dimension(
    name="aircraft",
    table=os.environ.get(PLACE, "/aircraft"),
    key=("tail_number",),
    valid=("valid_from", "valid_to"),
    fields=(Field(name="seats", type="int"), Field(name="maker", type="string")),
)
LOOKUP = Lookup(dimension=AIRCRAFT, on={"tail_number": "tail_number"})
_departures, _once, _hours = SHIPPED.steps
assert isinstance(_hours, Aggregate)
SPEC = Pipeline(
    name="delays_with_seats",
    about="Departure delays by hour, carrier and origin, with the seats of the aircraft.",
    topic=SHIPPED.topic,
    watermark_delay=SHIPPED.watermark_delay,
    steps=(
        _departures,
        LOOKUP,
        _once,
        Aggregate(
            window=Tumbling(size="1 hour"),
            keys=_hours.keys,
            measures=_hours.measures | {"seats": "sum(seats)"},
            counts=_hours.counts,
        ),
    ),
    output_checks=SHIPPED.output_checks,
)
