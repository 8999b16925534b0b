"""The shipped pipeline's last step, over the table of another pipeline."""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Pipeline, Table

SPEC = Pipeline(
    name="departures_by_hour",
    about="Departure delays by hour, carrier and origin, of the table of departures.",
    topic=Table(of="departures", event_time="event_time"),  # type: ignore[call-arg]
    watermark_delay=SHIPPED.watermark_delay,
    steps=SHIPPED.steps[2:],
    output_checks=SHIPPED.output_checks,
)
