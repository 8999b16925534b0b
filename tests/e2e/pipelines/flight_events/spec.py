"""The shipped pipeline, cut into batches: one drain makes several, and there is something to go
back to. One store, which costs less than two.
"""

from spark_jobs.pipelines.flight_events.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(
    update={
        "max_offsets_per_batch": 1000,
        "state": SHIPPED.state.model_copy(update={"shuffle_partitions": 1}),
    }
)
