"""Table care: the steps of `sluice maintain` for a pipeline's table.

Versions that somebody may read stay whole: the published one and the one published before, those
that the published table has shown within the retention, the one from which the checks read what is
new, and the one that was newest when the retention began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import MaintenanceRefused, TableLacks
from spark_jobs.table import history
from spark_jobs.table.port import RETENTION, Needed
from spark_jobs.table.published.table import versions_shown
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

MARGIN = timedelta(days=1)
"""A file of a version's change feed may be older than the version, by as long as its write took."""


def needed(paths: Paths, now: datetime) -> Needed:
    """What readers and checks may still read of the pipeline's table."""
    cursor, published = read_cursor(paths.cursor), read_published(paths)
    begins = now - RETENTION
    wanted = {
        cursor.judged_table_version,
        published.table_version,
        published.before_version,
        history.read_at(table_of(paths), begins),
        *_shown(paths, begins),
    }
    there = {
        version
        for version in wanted
        if version is not None and table_of(paths).has_version(version)
    }
    judged = cursor.judged_table_version
    passed_at = history.committed_at(table_of(paths), judged) if judged in there else None
    return Needed(tuple(sorted(there)), passed_at - MARGIN if passed_at else None)


def _shown(paths: Paths, begins: datetime) -> set[int]:
    """Only versions of before `begins`: files of later ones are kept by their age."""
    newest_before = history.newest_at(table_of(paths), begins)
    return {
        version
        for version in versions_shown(paths, begins)
        if newest_before is None or version <= newest_before
    }


def table_steps(paths: Paths, spec: Pipeline) -> Iterator[tuple[str, Callable[[], object]]]:
    """A line and a function for each step. For a table that is refused, one that says so."""
    if not (table := table_of(paths)).exists():
        return
    try:
        table.require("care", "sluice maintain")
        steps = table.care(spec, lambda: needed(paths, datetime.now(UTC)))
    except (MaintenanceRefused, TableLacks) as refusal:
        yield f"leave {paths.table}: {refusal}", partial(_raise, refusal)
    else:
        yield from steps


def _raise(error: Exception) -> None:
    raise error
