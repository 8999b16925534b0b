"""Interpreter: what a run needs of its Python process, whatever ran in it before."""

from __future__ import annotations

import gc
import logging
import os
import time

from spark_jobs.messages import log
from spark_jobs.settings.installation import log_format


def prepare() -> None:
    """Make this process fit for a run."""
    log.setup(log_format())
    # py4j logs every error that it passes on, also interrupted sleeps. PySpark logs what it raises.
    for name in ("py4j", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    gc.set_threshold(100_000)  # importing Great Expectations would start hundreds of collections
    os.environ["TZ"] = "UTC"
    time.tzset()  # Python state gets naive local times from Spark
