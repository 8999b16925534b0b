"""The shipped pipeline, over a topic with an archive."""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from spark_jobs.spec import Archive

SPEC = SHIPPED.model_copy(update={"topic": SHIPPED.topic.model_copy(update={"archive": Archive()})})
