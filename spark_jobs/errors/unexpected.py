"""An error that nobody foresaw, as one of ours."""

from __future__ import annotations

import os
import traceback

from spark_jobs.errors.base import SluiceError
from spark_jobs.errors.run import SparkFailed


def unexpected(error: BaseException) -> SluiceError:
    """Any other error as SparkFailed, with its first line.

    SLUICE_TRACEBACK=1 prints its stack trace.
    """
    if isinstance(error, SluiceError):
        return error
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return SparkFailed.unexpected(kind=type(error).__name__, text=first)
