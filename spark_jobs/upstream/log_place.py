"""Place: where an upstream table is, and whose rows it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import UpstreamUnfit
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.published.table import newest_shown

if TYPE_CHECKING:
    from upath import UPath


def log_of(name: str, folder: UPath) -> Log:
    """Raises UpstreamUnfit where there is no table yet."""
    log = Log.of(folder)
    if log.newest < 0:
        raise UpstreamUnfit.absent(name=name, place=folder)
    return log


def identity_of(name: str, log: Log) -> str:
    """What its rows are of: another one if the table was made anew. Of a published table, the
    pipeline's table that it shows: it keeps its own id behind a reset.
    """
    shown = newest_shown(log)
    return shown.table_id if shown else own_id(name, log)


def own_id(name: str, log: Log) -> str:
    """Delta's id of the table itself. Raises UpstreamUnfit."""
    try:
        metadata = log.replay(log.newest).metadata
    except LookupError as error:
        raise UpstreamUnfit.log_gone(name=name, wrong=error.args[0]) from None
    return str(metadata["id"]) if metadata else ""
