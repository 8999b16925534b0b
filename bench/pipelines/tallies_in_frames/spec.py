"""Tallies by a GroupState that gets pandas frames."""

from bench.pipelines.tallies.spec import SPEC as ROWS
from spark_jobs.spec import GroupState

[STEP] = ROWS.steps
assert isinstance(STEP, GroupState)
SPEC = ROWS.model_copy(
    update={
        "name": "tallies_in_frames",
        "steps": (STEP.model_copy(update={"form": "pandas"}),),
    }
)
