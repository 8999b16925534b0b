"""Table care: the steps of `sluice maintain` for a pipeline's table.

Versions that somebody may read stay whole: the published one and the one published before, those
that the published table has shown within the retention, the one from which the checks read what is
new, and the one that was newest when the retention began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import MaintenanceRefused, TableContended
from spark_jobs.published.table import versions_shown
from spark_jobs.root.path_forms import sql_table
from spark_jobs.root.store_errors import translate_store_error
from spark_jobs.sink.table_layout import order
from spark_jobs.table import history
from spark_jobs.table.delta import compaction, door, rewrite, z_order
from spark_jobs.table.delta.features import untried

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.root.paths import Paths
    from spark_jobs.spec import Pipeline

MARGIN = timedelta(days=1)
"""A file of a version's change feed may be older than the version, by as long as its write took."""


class Needed(NamedTuple):
    """What VACUUM must leave."""

    versions: tuple[int, ...]
    """Versions whose files all stay."""
    since: datetime | None
    """Files that were written later stay too; None if the retention alone says which."""


def needed(paths: Paths, now: datetime) -> Needed:
    """What readers and checks may still read of the pipeline's table."""
    cursor, published = read_cursor(paths.cursor), read_published(paths)
    begins = now - compaction.RETENTION
    wanted = {
        cursor.judged_table_version,
        published.table_version,
        published.before_version,
        history.read_at(paths.table, begins),
        *_shown(paths, begins),
    }
    there = {
        version
        for version in wanted
        if version is not None and door.has_version(paths.table, version)
    }
    judged = cursor.judged_table_version
    passed_at = history.committed_at(paths.table, judged) if judged in there else None
    return Needed(tuple(sorted(there)), passed_at - MARGIN if passed_at else None)


def _shown(paths: Paths, begins: datetime) -> set[int]:
    """Only versions of before `begins`: files of later ones are kept by their age."""
    newest_before = history.newest_at(paths.table, begins)
    return {
        version
        for version in versions_shown(paths, begins)
        if newest_before is None or version <= newest_before
    }


def table_steps(paths: Paths, spec: Pipeline) -> Iterator[tuple[str, Callable[[], object]]]:
    """A line and a function for each step. For a table that is refused, one that says so."""
    if not door.is_table(paths.table):
        return
    try:
        with in_words(paths.table):
            _refuse_features(paths.table)
            steps = _planned(paths, spec)
    except MaintenanceRefused as refusal:
        yield f"leave {paths.table}: {refusal}", partial(_raise, refusal)
    else:
        yield from steps


def _planned(paths: Paths, spec: Pipeline) -> list[tuple[str, Callable[[], object]]]:
    path = paths.table
    kept = needed(paths, datetime.now(UTC))
    small = _small(path, by := _order(path, spec))
    unused = compaction.vacuum(path, keep=kept.versions, before=kept.since, execute=False)
    checksums = compaction.remove_checksums(path, execute=False)
    steps: list[tuple[str, Callable[[], object]]] = []
    if old := len(rewrite.inexact(door.open_table(path))):
        what = f"write {old:,} files of {path} again, whose INT96 times others misread"
        steps.append((what, partial(_make_exact, path)))
    if unused:
        what = f"remove {unused:,} files of {path} that it has not had for"
        why = f"{compaction.RETENTION.days} days, and that no version needs which may be read"
        steps.append((f"{what} {why}", partial(_vacuum, path, kept)))
    if unused or checksums:
        steps.append(
            (
                f"remove the checksums of files that are gone from {path}",
                partial(compaction.remove_checksums, path, execute=True),
            )
        )
    if small:  # the last: a table may not be compacted, and its old files go all the same
        steps.append((f"join {small:,} small files of {path}", partial(_compact, path, spec, by)))
    return steps


def _order(path: UPath, spec: Pipeline) -> tuple[str, ...]:
    if spec.is_archive:
        return ()  # its batches are in the order of their offsets
    has = {field.name for field in door.open_table(path).schema().fields}
    return tuple(name for name in order(spec) if name in has)


def _small(path: UPath, by: tuple[str, ...]) -> int:
    if by:
        return sum(each.files for each in z_order.due(path, by))
    return compaction.small_files(path)


def _raise(error: Exception) -> None:
    raise error


def _make_exact(path: UPath) -> None:
    with in_words(path):
        rewrite.make_exact(door.open_table(path))


def _compact(path: UPath, spec: Pipeline, by: tuple[str, ...]) -> None:
    with in_words(path):
        if by:
            z_order.put_in_order(path, by)
        else:
            compaction.compact(path, written=compaction.ZSTD if spec.is_archive else None)


def _vacuum(path: UPath, kept: Needed) -> None:
    with in_words(path):
        compaction.vacuum(path, keep=kept.versions, before=kept.since, execute=True)


def _refuse_features(path: UPath) -> None:
    """Raise MaintenanceRefused: VACUUM might remove files of a feature that was not tried, such as
    deletion vectors.
    """
    if unknown := untried(door.open_table(path)):
        raise _refusal(path, f"it has {', '.join(unknown)}")


@contextmanager
def in_words(path: UPath) -> Iterator[None]:
    """Raise delta-rs's errors within the block as TableContended or MaintenanceRefused. A date that
    Python has not, beyond the years 1 to 9999, is a ValueError there.
    """
    try:
        yield
    except (DeltaError, ValueError) as error:
        if refused := translate_store_error(error):
            raise refused from error
        why = str(error).splitlines()[0].rstrip(". ")
        if isinstance(error, CommitFailedError) and "Unsupported" not in why:
            raise TableContended.changed_meanwhile(path=path, why=why) from None
        raise _refusal(path, why) from None


def _refusal(path: UPath, why: str) -> MaintenanceRefused:
    return MaintenanceRefused.needs_spark(
        path=path,
        why=why,
        sql=sql_table(path),
    )
