"""Care's steps: what is due in a table, each with what does it.

Z-order puts the rows of partitions into an order in which each file has few values of each column,
and ends: without new rows the next one rewrites nothing. delta-rs 1.6 orders all files of a
partition, into files somewhat below the size that was asked for. By size alone those are small
files again. So each commit says by what it ordered, and files that one of them wrote are left until
enough others have come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from deltalake import CommitProperties
from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.errors import MaintenanceRefused, TableContended
from spark_jobs.storage.root.path_forms import sql_table
from spark_jobs.storage.root.store import translate_store_error
from spark_jobs.table.delta import compaction, door, rewrite
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.door import untried
from spark_jobs.table.delta.table_layout import order
from spark_jobs.table.port import RETENTION, Needed, Step

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline

BY: Final = "sluice.zOrder"
"""What a commit's info has: the columns."""
HALF: Final = 0.5
"""Of the size of a large file."""
SHARE: Final = 4
"""Of a partition that is larger than a file, others' files must have one part of so many: what all
Z-orders write is then some times what all batches wrote.
"""


class Due(NamedTuple):
    """A partition with something to do."""

    part: compaction.Part
    files: int
    """Those that are not large, and that no Z-order by these columns wrote."""
    whole: bool
    """Whether all its rows are put into order, else files below HALF are joined: what a Z-order
    wrote is above it, but for each one's last file.
    """


def due(path: UPath, by: tuple[str, ...]) -> list[Due]:
    """The partitions in which there is something to do."""
    table = door.open_table(path)
    target = compaction.large(table)
    parts = {p: f for p, f in compaction.files_of_parts(table).items() if len(f) > 1}
    names = (name for files in parts.values() for name, size in files.items() if size < target)
    ordered = _ordered(path, names, by)
    found = []
    for part, files in parts.items():
        small = {name: size for name, size in files.items() if size < target}
        new = [s for name, s in small.items() if not ordered.get(name, s >= target * HALF)]
        total = sum(files.values())
        much = total <= target or sum(new) > max(target, total / SHARE)
        named = all(value is not None for _, value in part)  # delta-rs cannot ask for null
        if new and much and named:
            found.append(Due(part, len(new), whole=True))
        # There are new files to join, and two of all fit into one.
        elif len([size for size in new if size < target * HALF]) > 1 and (
            sum(sorted(small.values())[:2]) <= target * HALF
        ):
            found.append(Due(part, len(new), whole=False))
    return found


def _ordered(path: UPath, names: Iterable[str], by: tuple[str, ...]) -> dict[str, bool]:
    """Of the files whose commit the log still has: whether a Z-order by these columns wrote it."""
    found: dict[str, bool] = {}
    if not (wanted := {*names}):
        return found
    log = Log.of(path)
    for version in sorted(log.commits, reverse=True):
        try:
            actions = log.commit(version)
        except FileNotFoundError:  # a run has cleaned the log up meanwhile, from its oldest on
            break
        mine = any(each.get("commitInfo", {}).get(BY) == ",".join(by) for each in actions)
        added = {compaction.file_name(each["add"]["path"]) for each in actions if "add" in each}
        found |= dict.fromkeys(added & wanted - found.keys(), mine)
        if len(found) == len(wanted):
            break
    return found


def put_in_order(path: UPath, by: tuple[str, ...]) -> int:
    """Do what is due; how many files it replaced. One commit a partition. Raises as
    `compaction.compact`.
    """
    done, joined = 0, []
    for part, _, whole in due(path, by):
        if not whole:
            joined.append(part)
            continue
        table = door.open_table(path)
        made = table.optimize.z_order(
            by,
            [(name, "=", value) for name, value in part] or None,
            target_size=compaction.large(table),
            commit_properties=CommitProperties(custom_metadata={BY: ",".join(by)}),
            post_commithook_properties=compaction.LEAVE_LOG,
        )
        done += int(made["numFilesRemoved"])
    below = int(compaction.large(door.open_table(path)) * HALF)
    if any(value is None for part in joined for _, value in part):
        return done + compaction.compact(path, below=below)
    for part in joined:
        only = {name: value for name, value in part if value is not None}
        done += compaction.compact(path, only, below=below)
    return done


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
        exact = _worded(path, lambda: rewrite.make_exact(door.open_table(path)))
        steps.append((what, exact))
    if unused:
        what = f"remove {unused:,} files of {path} that it has not had for"
        why = f"{RETENTION.days} days, and that no version needs which may be read"
        vacuum = partial(compaction.vacuum, keep=kept.versions, before=kept.since, execute=True)
        steps.append((f"{what} {why}", _worded(path, partial(vacuum, path))))
    if unused or checksums:
        steps.append(
            (
                f"remove the checksums of files that are gone from {path}",
                partial(compaction.remove_checksums, path, execute=True),
            )
        )
    if small:  # the last: a table may not be compacted, and its old files go all the same
        join = _worded(path, partial(_compact, path, spec, by))
        steps.append((f"join {small:,} small files of {path}", join))
    return steps


def _order(path: UPath, spec: Pipeline) -> tuple[str, ...]:
    if spec.is_archive:
        return ()  # its batches are in the order of their offsets
    has = {field.name for field in door.open_table(path).schema().fields}
    return tuple(name for name in order(spec) if name in has)


def _small(path: UPath, by: tuple[str, ...]) -> int:
    if by:
        return sum(each.files for each in due(path, by))
    return compaction.small_files(path)


def _compact(path: UPath, spec: Pipeline, by: tuple[str, ...]) -> None:
    if by:
        put_in_order(path, by)
    else:
        compaction.compact(path, written=compaction.ZSTD if spec.is_archive else None)


def _worded(path: UPath, work: Callable[[], object]) -> Callable[[], None]:
    def step() -> None:
        with in_words(path):
            work()

    return step


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
    return MaintenanceRefused.needs_spark(path=path, why=why, sql=sql_table(path))
