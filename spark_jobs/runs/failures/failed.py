"""Failed: the room's door. What looks into a failure is loaded by name once something has failed:
most runs never do.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, cast

from spark_jobs.errors import SluiceError

if TYPE_CHECKING:
    from pyspark.errors import StreamingQueryException

    from spark_jobs.checkpoint.run import Run

TRANSLATED: Final = "spark_jobs.runs.failures.spark_errors:translated"
SEARCH: Final = "spark_jobs.runs.failures.failing_search:set_failing_aside"


def translate_error(error: BaseException, pipeline: str, lost: str = "") -> SluiceError:
    """The SluiceError for what Spark, Delta, the store or the pipeline's code raised.

    `lost` is the traceback of a worker that Spark does not tell (steps/timers.py). An unknown
    error becomes SPARK_FAILED.
    """
    if isinstance(error, SluiceError):
        return error
    return cast("SluiceError", resolve_name(TRANSLATED)(error, pipeline, lost))


def set_failing_aside(run: Run, failed: StreamingQueryException, audited: int) -> int:
    """Store the records that made the planned batch fail, so that they are malformed when it runs
    again; the batch's id.

    Raises `failed` if no expression failed. Raises ExpressionFailed if no record can be found, if
    too many fail, or if a person is to decide; RecordsRefused where a rule of the spec refuses.
    """
    return cast("int", resolve_name(SEARCH)(run, failed, audited))
