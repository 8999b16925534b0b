"""Place: where an upstream table is, and whose rows it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import UpstreamUnfit
from spark_jobs.side.column_types import misfit
from spark_jobs.table.data_files import data_files
from spark_jobs.table.tables import own_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from upath import UPath

    from spark_jobs.spec import Topic
    from spark_jobs.table.data_files import DataFiles


def log_of(name: str, folder: UPath) -> DataFiles:
    """Raises UpstreamUnfit where there is no table yet."""
    log = data_files(name, folder)
    if log.newest < 0:
        raise UpstreamUnfit.absent(name=name, place=folder)
    return log


def identity_of(name: str, log: DataFiles) -> str:
    """What its rows are of: another one if the table was made anew. Of a published table, the
    pipeline's table that it shows: it keeps its own id behind a reset. Raises UpstreamUnfit.
    """
    return _known(name, log.shown_id)


def own_id(name: str, log: DataFiles) -> str:
    """The id of the table itself. Raises UpstreamUnfit."""
    return _known(name, log.own_id)


def _known(name: str, asked: Callable[[], str]) -> str:
    try:
        return asked()
    except LookupError as error:
        raise UpstreamUnfit.log_gone(name=name, wrong=error.args[0]) from None


def refuse_unlike(topic: Topic, folder: UPath) -> None:
    """Raise UpstreamUnfit for a field that the table has not, or has in another type."""
    has = {each.name: each.type for each in own_table(folder).arrow()}
    declared = {each.name: each.type for each in topic.fields}
    if (column := misfit(has, declared)) is None:
        return
    if column not in has:
        raise UpstreamUnfit.lacks_column(
            name=topic.name, place=folder, column=column, there=", ".join(sorted(has))
        )
    raise UpstreamUnfit.other_type(
        name=topic.name, place=folder, column=column, there=has[column], declared=declared[column]
    )
