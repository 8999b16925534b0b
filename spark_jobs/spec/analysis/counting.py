"""Counting: which Aggregate's records can be balanced: those that entered it, those in its state
and those in the rows that it wrote.
"""

from __future__ import annotations

from spark_jobs.spec import Pipeline
from spark_jobs.spec.output_mode import mode_facts


def counting_step(spec: Pipeline) -> int | None:
    """The index of the Aggregate whose records can be balanced; None if there is none.

    Not if rows are written again while their group is open, and the group is evicted later without
    a row (update with a window).
    """
    for index, step in enumerate(spec.steps):
        if step.counted_by:
            mode = mode_facts(spec.output_mode)
            keeps = mode.keeps_all_state or step.grouping_window is None
            return index if keeps or mode.writes_evicted else None
    return None
