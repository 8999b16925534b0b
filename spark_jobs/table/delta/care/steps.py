"""Steps: what is due in a table, each with what does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.errors import MaintenanceRefused, TableContended
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.storage.root.store_errors import translate_store_error
from spark_jobs.table.delta import door, rewrite
from spark_jobs.table.delta.care import compaction, z_order
from spark_jobs.table.delta.features import untried
from spark_jobs.table.delta.table_layout import order
from spark_jobs.table.port import RETENTION, Needed, Step

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline


def steps(path: UPath, spec: Pipeline, needed: Callable[[], Needed]) -> list[Step]:
    """As Table.care."""
    with in_words(path):
        _refuse_features(path)
        return _planned(path, spec, needed())


def _planned(path: UPath, spec: Pipeline, kept: Needed) -> list[Step]:
    small = _small(path, by := _order(path, spec))
    unused = compaction.vacuum(path, keep=kept.versions, before=kept.since, execute=False)
    checksums = compaction.remove_checksums(path, execute=False)
    steps = list[Step]()
    if old := len(rewrite.inexact(door.open_table(path))):
        what = f"write {old:,} files of {path} again, whose INT96 times others misread"
        steps.append((what, partial(_make_exact, path)))
    if unused:
        what = f"remove {unused:,} files of {path} that it has not had for"
        why = f"{RETENTION.days} days, and that no version needs which may be read"
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
