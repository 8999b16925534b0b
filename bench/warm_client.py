"""`python -m bench.warm_client PIPELINE REPORT RUN_ID`: one drain through a worker, as a task of
Airflow does it. Ends with 1 where no worker took it.
"""

from __future__ import annotations

import os
import sys

from spark_jobs.launch import submit
from spark_jobs.launch.warm.client import begun
from spark_jobs.messages import log
from spark_jobs.messages.job import Drain
from spark_jobs.settings.installation import Settings


def main(pipeline: str, report: str, run_id: str) -> int:
    """Returns the exit status."""
    log.setup()
    settings = Settings.from_environment()
    words = Drain(pipeline=pipeline, report=report, run_id=run_id).words()
    variables = {**os.environ, **submit.environment(settings)}
    run = begun(settings, pipeline, words, variables, 0, (1, 2))
    if run is None:
        return 1
    run.follow()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
