"""The root of a pipeline, for a request: it has answered, and has what is asked for, or an
error says why not. So a page that says "none" has looked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from sluice_airflow.web.asked import Asked
from sluice_airflow.web.drained import drained
from spark_jobs.errors import RootEmpty, RootNotWritable, RootUnreachable, SluiceError
from spark_jobs.ops.results import Results, using
from spark_jobs.registry.root_by_name import root_by_name
from spark_jobs.storage.object_store import folders_in
from spark_jobs.storage.root.paths import CHECKPOINTS, OPS
from spark_jobs.storage.root.store import is_remote, opened, translate_store_error

if TYPE_CHECKING:
    from upath import UPath


RESULTS = Results(64 * 2**20)
"""Of this server process. 5,000 batches take some 2 MB."""
ASKED: Final = Asked[frozenset[str]]("pipelines of", wait=7.0, counts=1.0)
"""Longer than one question to a store lasts: that says why there is no answer."""


READS: Final = ContextVar[str]("the root that a request reads")


def installed(pipeline: str, *, kept: bool = True) -> AbstractContextManager[UPath]:
    """The pipeline's root: the block reads its data. Raises as `reading`."""
    return reading(root_by_name(pipeline), pipeline, kept=kept)


@contextmanager
def reading(where: str, pipeline: str | None = None, *, kept: bool = True) -> Iterator[UPath]:
    """The root at this path or URL. `pipeline`: whose data the block reads. `kept`: the server
    keeps what the block reads, for the next request.

    Raises SettingInvalid; RootEmpty; RootRefused, RootUnreachable or RootNotWritable, also of what
    the block asks.
    """
    READS.set(where)
    try:
        _require(where, pipeline)
        with using(RESULTS if kept else None):
            yield opened(where)
    except SluiceError:
        raise
    except Exception as error:
        known = translate_store_error(error, where)
        if known is None and isinstance(error, OSError):
            at, why = error.filename or where, error.strerror or error
            known = RootNotWritable.not_readable(path=at, error=why)
        if known is None:
            raise
        raise known from None


def _require(where: str, pipeline: str | None) -> None:
    """Raise RootEmpty for a root without any run, or without one of this pipeline that Airflow
    knows.
    """
    empty = None
    try:
        there = _answered(where)
    except RootEmpty as error:
        there, empty = frozenset(), error
    if pipeline and pipeline not in there and drained([pipeline]):
        raise RootEmpty.elsewhere(root=where, pipeline=pipeline)
    if empty is not None:
        raise empty


def _answered(where: str) -> frozenset[str]:
    try:
        return ASKED.answer(where, lambda: _pipelines(where))
    except TimeoutError:
        raise RootUnreachable.root_silent(root=where, seconds=ASKED.wait) from None


def _pipelines(where: str) -> frozenset[str]:
    """Raises RootEmpty where the root is nothing at all."""
    if found := folders_in(f"{where}/{CHECKPOINTS}"):
        return frozenset(found)
    above = folders_in(where)
    if above is None and not is_remote(where):
        raise RootEmpty.absent(root=where)
    if OPS not in (above or ()):
        raise RootEmpty.no_run(root=where)
    return frozenset()
