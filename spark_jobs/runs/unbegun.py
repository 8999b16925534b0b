"""Unbegun: the row in ops.runs of a run that did not come to write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from spark_jobs.errors import SluiceError, unexpected
from spark_jobs.messages.kind import Kind
from spark_jobs.messages.report import Report
from spark_jobs.registry.root_by_name import root_by_name
from spark_jobs.runs.run_record import OF_THE_ROOT, append_once
from spark_jobs.storage.root.store import translate_store_error


@contextmanager
def recorded(
    pipeline: str,
    run_id: str,
    last: Callable[[Exception], bool] = lambda _: True,
    kind: Kind = "drain",
) -> Iterator[None]:
    """If the block fails, write the row of a run that did not come to write it: it was refused
    before its driver began, or its driver was killed.

    `last` says if nobody will try the block again after this error: before, there is no row.
    """
    started_at = datetime.now(UTC)
    try:
        yield
    except Exception as error:
        known = error if isinstance(error, SluiceError) else _known(error)
        if last(error) and known.code not in OF_THE_ROOT:
            report = Report.of_failure(kind, pipeline, run_id, known, started_at)
            with suppress(SluiceError):  # without a root there is no table
                append_once(report, root_by_name(pipeline))
        raise


def _known(error: Exception) -> SluiceError:
    return translate_store_error(error) or unexpected(error)
