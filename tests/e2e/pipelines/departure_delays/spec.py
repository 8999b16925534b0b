"""The shipped pipeline with one store a step, beside one that differs in its checks."""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(
    update={"state": SHIPPED.state.model_copy(update={"shuffle_partitions": 1})}
)
