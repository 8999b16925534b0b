"""Origins: from which columns of the topic each column of the table is computed, as far as a spec
says it without Spark.
"""

from __future__ import annotations

from spark_jobs.spec import Pipeline
from spark_jobs.spec.origin import Origin, Origins


def origins_of(spec: Pipeline) -> Origins:
    """Those of the columns of the table."""
    origins: Origins = {name: (Origin(name, "identity"),) for name in spec.inputs.columns}
    time: str | None = spec.inputs.event_time
    for step in spec.steps:
        origins, time = step.origins_after(origins, time), step.time_after(time)
    return origins
