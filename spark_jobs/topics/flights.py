"""Departures and arrivals of the flights that left New York in 2013.

The code in local/ publishes them.
"""

from spark_jobs.spec import Field, Topic

FLIGHTS = Topic(
    name="flights",
    event_time="event_time",
    max_ahead="10 minutes",
    fields=(
        Field(
            name="event_id",
            type="string",
            about="id of the event; a duplicate record has the same id",
        ),
        Field(name="event_type", type="string", about="departure or arrival"),
        Field(
            name="event_time",
            type="timestamp",
            about="time of the event; for a cancelled flight, the scheduled time",
        ),
        Field(name="scheduled_time", type="timestamp"),
        Field(name="carrier", type="string", about="two-letter airline code"),
        Field(name="flight", type="int"),
        Field(
            name="tail_number",
            type="string",
            required=False,
            about="null for some cancelled flights",
        ),
        Field(name="origin", type="string", about="EWR, JFK or LGA"),
        Field(name="destination", type="string"),
        Field(
            name="delay_minutes",
            type="int",
            required=False,
            about="negative: early; null: cancelled",
        ),
        Field(name="cancelled", type="boolean"),
        Field(name="distance_miles", type="int"),
    ),
)
