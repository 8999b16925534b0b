"""Proved: what the published table's properties say of its proved rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.published.commit import Content, Proved, actions
from spark_jobs.table.published.table import add_checkpoint, newest_shown
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from spark_jobs.storage.root.paths import Paths


def show_proved(paths: Paths, proved: Proved, seen: int, lives: Callable[[Paths], None]) -> bool:
    """Say in the published table's properties which of its rows are proved, in place of what was
    said. False if it says that already, or shows no row.

    `seen` is the version of the pipeline's table by which they are. What commits have changed
    since, or what is not shown yet, is not said. `lives` raises VersionNotLive where the place
    is dead.
    """
    while True:
        own, log = Log.of(paths.published_table), Log.of(paths.table)
        lives(paths)
        shown = newest_shown(own)
        if shown is None or shown.table_id != table_of(paths).identifier():
            return False
        since = min(seen, shown.version)
        whole = log.has(since, log.newest)
        told = proved.without(log, since, log.newest) if whole else Proved()
        if told == shown.proved:
            return False
        content = Content(shown.own_id, own.replay(own.newest).metadata, None, [], [])
        mark = shown.model_copy(update={"proved": told})
        if own.put(own.newest + 1, [*actions(content, mark, paths.pipeline)]):
            add_checkpoint(paths.published_table, own)
            return True
