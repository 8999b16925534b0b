"""Both airports of each flight event: a query after the state makes two rows of one."""

from spark_jobs.spec import Deduplicate, Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="airports_served",
    about="Which airports each flight event touched.",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(
        Deduplicate(keys=("event_id",)),
        Transform(sql="SELECT event_id, explode(array(origin, destination)) AS airport FROM rows"),
    ),
)
