"""The shipped pipeline, cut into batches: one drain makes several; one store costs less."""

from spark_jobs.pipelines.flight_events.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(
    update={
        "max_offsets_per_batch": 1000,
        "state": SHIPPED.state.model_copy(update={"shuffle_partitions": 1}),
    }
)
