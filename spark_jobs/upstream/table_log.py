"""Table log: of what an upstream table's rows are, and what its commits have done since a version,
as a reader of its rows sees it.

A commit that adds rows and removes none is read. One that removes rows replaces them: what it adds
is read by repairs alone. A publish keeps the two apart (table/published/parts.py). One that moves
rows to other files (OPTIMIZE) changes nothing; the rows are read from the files that had them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import UpstreamUnfit
from spark_jobs.side.column_types import misfit
from spark_jobs.table.data_files import DataFile, data_files
from spark_jobs.table.tables import own_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from upath import UPath

    from spark_jobs.spec import Topic
    from spark_jobs.table.data_files import DataFiles


class Appended(NamedTuple):
    """A file whose rows a drain reads."""

    version: int
    at_ms: int
    """When it was committed, in milliseconds since the epoch."""
    file: DataFile


class Moves(NamedTuple):
    """From one version to another."""

    live: dict[str, DataFile]
    """The files of the later one, by path."""
    appended: tuple[Appended, ...]
    """In the order of commits, without those that were replaced by then."""
    replaced: bool
    """Whether rows were replaced, or nobody knows."""


def live_files(log: DataFiles, version: int, event_time: str) -> dict[str, DataFile]:
    """The files of a version, by path. Raises UpstreamUnfit; LookupError if nobody knows them."""
    return {file.path: file for file in log.live(version, event_time)}


def moves(log: DataFiles, since: int, until: int, event_time: str) -> Moves:
    """What a reader that has seen `since` finds at `until`. Raises UpstreamUnfit, LookupError."""
    live = live_files(log, until, event_time)
    if not log.has(since, until):
        return Moves(live, (), replaced=True)
    appended, replaced = dict[str, Appended](), False
    of = dict[str, frozenset[str]]()
    """DataFile -> the appended ones of which it may have rows."""
    for version in range(since + 1, until + 1):
        made = log.change(version)
        changed = [each for each in made.removed if each.changes_rows]
        if changed or made.restores:
            replaced = True
            for each in changed:
                for path in of.get(each.key, ()):
                    appended.pop(path, None)
        elif new := [each for each in made.added if each.changes_rows]:
            for each, file in zip(new, log.added(version, event_time), strict=True):
                appended[each.path] = Appended(version, made.at_ms, file)
                of[each.key] = frozenset({each.path})
        moved = frozenset[str]().union(*(of.get(each.key, ()) for each in made.removed))
        for each in made.added:
            if moved and not each.changes_rows:
                of[each.key] = moved
    return Moves(live, tuple(appended.values()), replaced)


def in_order(files: Iterable[DataFile]) -> Sequence[tuple[DataFile, bool]]:
    """All rows of a table, for a reader that begins: by their event times, and whether a batch may
    end behind the file. It may not where a later file has a row that is no later.
    """
    by_time = sorted(files, key=lambda each: (each.first is not None, each.first, each.path))
    found, least = list[tuple[DataFile, bool]](), None
    for file in reversed(by_time):
        apart = file.told and (least is None or (file.last is not None and file.last < least))
        found.append((file, not found or bool(apart and least is not None)))
        if file.first is not None:
            least = file.first if least is None else min(least, file.first)
    return found[::-1]


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
