"""Which failures Airflow retries: each error class says it, as data."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from sluice_airflow.ids import group_of
from spark_jobs.errors import SluiceError
from spark_jobs.storage.root.store import translate_store_error

ARGUMENTS: dict[str, Any] = {
    "retries": 2,
    "retry_delay": timedelta(seconds=15),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=5),
}
"""The retry arguments of every task of a pipeline. They count for an error that a retry can mend,
and for one that is not Sluice's: a lost worker, a bug.
"""

SWAP_ARGUMENTS: dict[str, Any] = {
    "retries": 40,
    "retry_delay": timedelta(seconds=15),
    "retry_exponential_backoff": 0,
}
"""A swap's retries: for ten minutes it waits for the drain that holds the lease."""


def attempt(context: Context, what: str = "") -> str:
    """The id of the run that a try of a task is.

    `what` keeps apart the runs of two DAGs of one pipeline: persons may give them the same id. A
    group's is told by its DAG's id and its own.
    """
    if group := group_of(context):
        what = f"{context['ti'].dag_id}.{group}{what}"
    return f"{context['run_id']}-{what}try{context['ti'].try_number}"


def last_try(context: Context, error: Exception) -> bool:
    """Whether Airflow does not try the task again after this error."""
    retried = not isinstance(error, SluiceError) or error.retry
    return not retried or context["ti"].try_number > context["ti"].max_tries


class one_line_errors:
    """Logs a SluiceError or an object store's error as one line, and raises it as a SluiceError
    without its stack frames; as one that Airflow does not try again, if a retry cannot help, or if
    it is one of `final`.

    Airflow logs the traceback of every error that fails a task. Without frames that traceback
    repeats only the line.
    """

    def __init__(self, log: Any, final: type[SluiceError] | None = None) -> None:
        self._log = log
        self._final = final

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A skip, a timeout or a signal amid a store's error is none of the store's.
        if not isinstance(error, Exception) or isinstance(error, AirflowSkipException):
            return
        known = error if isinstance(error, SluiceError) else translate_store_error(error)
        if known is None:
            return
        self._log.error("%s", known)
        again = known.retry and not isinstance(known, self._final or ())
        raise (known if again else _untried(known)).with_traceback(None) from None


def _untried(error: SluiceError) -> SluiceError:
    if isinstance(error, AirflowFailException):
        return error
    kind = type(error)
    both = type(kind.__name__, (kind, AirflowFailException), {"__doc__": kind.__doc__})
    untried: SluiceError = both(*error.args)
    return untried
