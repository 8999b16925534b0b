"""An error that nobody foresaw, as one of ours."""

from __future__ import annotations

import os
import traceback
from typing import Final

from spark_jobs.errors.base import SluiceError
from spark_jobs.errors.run import SparkFailed

UNKNOWN_REMEDY: Final = (
    "SLUICE_TRACEBACK=1 shows the stack trace. If it ends so twice, running again does not help."
)
"""Of an error of which nobody knows whether it repeats."""


def unexpected(error: BaseException) -> SluiceError:
    """Any other error as SparkFailed, with its first line.

    SLUICE_TRACEBACK=1 prints its stack trace.
    """
    if isinstance(error, SluiceError):
        return error
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return SparkFailed(
        f"{type(error).__name__}: {first}",
        UNKNOWN_REMEDY,
    )
