"""The shipped pipeline, cut into batches: one drain makes several, and there is something to go
back to.
"""

from spark_jobs.pipelines.flight_events.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(update={"max_offsets_per_batch": 500})
