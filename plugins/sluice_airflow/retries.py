"""Which failures Airflow retries: each error class says it, as data."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any

from airflow.sdk import Context, ExceptionRetryPolicy, RetryAction, RetryRule

from spark_jobs.errors import SluiceError, StagingStale, catalogue
from spark_jobs.root.store_errors import translate_store_error


def _rule(error: type[SluiceError], *, subclasses: bool) -> RetryRule:
    return RetryRule(
        exception=error,
        action=RetryAction.RETRY if error.retry else RetryAction.FAIL,
        reason=f"{error.code}: {'a retry can help' if error.retry else 'a retry cannot help'}",
        match_subclasses=subclasses,
    )


# The base class comes last and covers its subclasses: an error that this Sluice does not know is
# not retried.
POLICY = ExceptionRetryPolicy(
    rules=[
        *(_rule(error, subclasses=False) for error in catalogue()),
        _rule(SluiceError, subclasses=True),
    ]
)
"""For other errors (a lost worker, a bug) only the number of retries counts."""

ARGUMENTS: dict[str, Any] = {
    "retries": 2,
    "retry_delay": timedelta(seconds=15),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=5),
    "retry_policy": POLICY,
}
"""The retry arguments of every task of a pipeline."""

SWAP_ARGUMENTS: dict[str, Any] = {
    "retries": 40,
    "retry_delay": timedelta(seconds=15),
    "retry_exponential_backoff": 0,
    "retry_policy": ExceptionRetryPolicy(
        rules=[
            RetryRule(
                exception=StagingStale,
                action=RetryAction.FAIL,
                reason=f"{StagingStale.code}: clear the task plan, which plans and stages again",
                match_subclasses=False,
            ),
            *POLICY.rules,
        ]
    ),
}
"""Those of a swap: for ten minutes it waits for the drain that holds the lease."""


def attempt(context: Context, what: str = "") -> str:
    """The id of the run that a try of a task is.

    `what` keeps apart the runs of two DAGs of one pipeline: persons may give them the same id.
    """
    return f"{context['run_id']}-{what}try{context['ti'].try_number}"


def last_try(context: Context, error: Exception) -> bool:
    """Whether Airflow does not try the task again after this error."""
    retried = not isinstance(error, SluiceError) or error.retry
    return not retried or context["ti"].try_number > context["ti"].max_tries


class one_line_errors:
    """Logs a SluiceError or an object store's error as one line, and raises it as a SluiceError
    without its stack frames.

    Airflow logs the traceback of every error that fails a task. Without frames that traceback
    repeats only the line.
    """

    def __init__(self, log: Any) -> None:
        self._log = log

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        known = (
            error
            if error is None or isinstance(error, SluiceError)
            else translate_store_error(error)
        )
        if known is not None:
            self._log.error("%s", known)
            raise known.with_traceback(None) from None
