"""Which failures Airflow tries again: decided by the error's class, as data."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule

from spark_jobs.contract.errors import SluiceError, catalogue
from spark_jobs.contract.store_errors import told as store_told


def _rule(error: type[SluiceError], *, subclasses: bool) -> RetryRule:
    return RetryRule(
        exception=error,
        action=RetryAction.RETRY if error.retry else RetryAction.FAIL,
        reason=f"{error.code}: {'trying again can help' if error.retry else 'trying again cannot help'}",
        match_subclasses=subclasses,
    )


# The root comes last and takes its subclasses with it: an error that this Sluice does not know is not tried again.
POLICY = ExceptionRetryPolicy(
    rules=[*(_rule(error, subclasses=False) for error in catalogue()), _rule(SluiceError, subclasses=True)]
)
"""What is not a SluiceError (a lost worker, a bug) follows the number of retries alone."""

ARGUMENTS: dict[str, Any] = {
    "retries": 2,
    "retry_delay": timedelta(seconds=15),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=5),
    "retry_policy": POLICY,
}
"""The retry arguments of every task of a pipeline."""


class told_in_one_line:
    """Log a SluiceError, or what an object store said, as one line, and let it go on without the frames that it came through.

    Airflow logs the traceback of whatever fails a task; what is left of it after this says nothing that the line does not.
    """

    def __init__(self, log: Any) -> None:
        self._log = log

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        known = error if error is None or isinstance(error, SluiceError) else store_told(error)
        if known is not None:
            self._log.error("%s", known)
            raise known.with_traceback(None) from None
