"""Sales, each once for ever. Nothing behind it needs the event time."""

from spark_jobs.spec import State, Transform
from tests.unit.specs import deduplicate, pipeline

SPEC = pipeline(
    name="seen_for_ever",
    steps=(deduplicate(scope="for_ever"), Transform(sql="SELECT id, amount FROM rows")),
    state=State(shuffle_partitions=1, budget_rows=1000),
)
