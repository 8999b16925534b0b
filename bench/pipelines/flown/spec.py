"""Two topics: each departure with its arrival, which has the same id."""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Deduplicate, Join, Pipeline

DEPARTURES, ARRIVALS = (
    SHIPPED.topic.model_copy(update={"name": name}) for name in ("departures", "arrivals")
)
_once = (Deduplicate(keys=("event_id",)),)
SPEC = Pipeline(
    name="flown",
    about="Departures, with the arrival if there is one.",
    topics=(DEPARTURES, ARRIVALS),
    watermark_delay=SHIPPED.watermark_delay,
    steps=(
        Join(
            left="departures",
            right="arrivals",
            on={"event_id": "event_id"},
            within=("0 minutes", "18 hours"),
            how="left",
            before={"departures": _once, "arrivals": _once},
            prefix="arrival_",
        ),
    ),
)
