"""Each departure once: the table that departures_by_hour reads."""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Pipeline

SPEC = Pipeline(
    name="departures",
    about="Each departure once.",
    topic=SHIPPED.topic,
    watermark_delay=SHIPPED.watermark_delay,
    steps=SHIPPED.steps[:2],
)
