"""The shipped pipeline, in batches of at most 2,000 records."""

from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(update={"name": "small_batches", "max_offsets_per_batch": 2_000})
