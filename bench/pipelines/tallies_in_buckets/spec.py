"""Tallies by a GroupState in buckets."""

from bench.pipelines.tallies.spec import SPEC as ROWS
from spark_jobs.spec import GroupState

[STEP] = ROWS.steps
assert isinstance(STEP, GroupState)
SPEC = ROWS.model_copy(
    update={
        "name": "tallies_in_buckets",
        "steps": (
            GroupState(
                form="buckets",
                buckets=32,
                processor="tally",
                keys=STEP.keys,
                state=STEP.output[1:],
                output=STEP.output,
                time_mode="none",
            ),
        ),
    }
)
