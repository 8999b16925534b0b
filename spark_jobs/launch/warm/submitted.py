"""Submitted: a run in the foreground, through a worker or by spark-submit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spark_jobs.launch import foreground
from spark_jobs.launch.submit import application, command, environment
from spark_jobs.launch.warm.client import begun

if TYPE_CHECKING:
    from spark_jobs.messages.job import Run
    from spark_jobs.settings.installation import Settings

OUTPUT = (1, 2)
"""The descriptors that a run writes to: standard output and error."""


def run(settings: Settings, job: Run, records: int) -> None:
    """Do the job to its end; its report says how it ended. `records`: how many it will read; 0 if
    unknown.
    """
    variables = {**os.environ, **environment(settings)}
    if warm := begun(settings, job.pipeline, job.words(), variables, records, OUTPUT):
        warm.follow()
        return
    words = command(settings, job, records)
    foreground.run_in_foreground(words, variables, application(settings.spark_env))
