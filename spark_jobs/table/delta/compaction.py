"""Compaction: joins small files of a Delta table, and removes files that no reader needs, without a
JVM.

Both go by Delta's own operations, in delta-rs: OPTIMIZE marks what it writes as no change of data,
so that streaming readers and the change feed see nothing. Each is one commit: a kill leaves the
table as it was, or as it should be, and files that the next VACUUM removes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import deltalake

from spark_jobs.storage.root.store import is_remote
from spark_jobs.table.delta import door
from spark_jobs.table.port import RETENTION
from spark_jobs.values.times import at_seconds

if TYPE_CHECKING:
    from upath import UPath

"""How long a file stays that the table no longer has: Delta's default. Readers may be at it."""
LARGE = 100 * 1024 * 1024
"""Bytes of a file that is not joined with others: delta-rs's default."""
FILE_SIZE = "delta.targetFileSize"
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}
Part = tuple[tuple[str, str | None], ...]
"""Partition columns with their values, as the log has them."""
ZSTD = deltalake.WriterProperties(compression="ZSTD", compression_level=6)
"""How the files of an archive are compressed, as table/delta/commit.py has it."""
LEAVE_LOG = deltalake.PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""The log of a pipeline's table is Spark's to checkpoint and to clean up."""


def small_files(path: UPath, partition: dict[str, str] | None = None) -> int:
    """How many files of the table `compact` would read; 0 if there is nothing to join."""
    wanted = (partition or {}).items()
    small = _small(door.open_table(path))
    return sum(count for part, count in small.items() if wanted <= {*part})


def _small(table: deltalake.DeltaTable) -> dict[Part, int]:
    """The parts of the table with files that can be joined -> how many."""
    below = large(table)
    small = {
        part: sum(size < below for size in files.values())
        for part, files in files_of_parts(table).items()
    }
    return {part: count for part, count in small.items() if count > 1}


def files_of_parts(table: deltalake.DeltaTable) -> dict[Part, dict[str, int]]:
    """The parts of the table -> their files' names and bytes."""
    files = table.get_add_actions(flatten=True)
    names = sorted(name for name in files.schema.names if name.startswith("partition."))
    values = [[_text(each) for each in files.column(name).to_pylist()] for name in names]
    columns = [name.removeprefix("partition.") for name in names]
    paths, sizes = (files.column(name).to_pylist() for name in ("path", "size_bytes"))
    parts = zip(*values, strict=True) if names else ((),) * len(sizes)
    found: dict[Part, dict[str, int]] = {}
    for part, path, size in zip(parts, paths, sizes, strict=True):
        found.setdefault(tuple(zip(columns, part, strict=True)), {})[file_name(path)] = size
    return found


def file_name(path: str) -> str:
    """A file's own name, without its partitions' folders, which the log may have encoded."""
    return path.rpartition("/")[2]


def _text(value: object) -> str | None:
    """A partition's value as the log has it."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def large(table: deltalake.DeltaTable) -> int:
    """Bytes of a file that is not joined with others: the table's property, or LARGE."""
    given = table.metadata().configuration.get(FILE_SIZE, str(LARGE)).lower()
    number = given.rstrip("kmgb ")
    if not number.isdecimal():
        return LARGE  # a person's
    return int(number) * UNITS.get(given[len(number) :].strip()[:1], 1)


def compact(
    path: UPath,
    partition: dict[str, str] | None = None,
    written: deltalake.WriterProperties | None = None,
    below: int | None = None,
) -> int:
    """Join files of fewer bytes than `below`, else than `large`, in one commit; how many it
    replaced. `written` is how the new ones are.

    Raises CommitFailedError if another writer has removed one of them meanwhile.
    """
    table = door.open_table(path)
    done = table.optimize.compact(
        partition_filters=[(name, "=", value) for name, value in (partition or {}).items()] or None,
        target_size=below or large(table),
        writer_properties=written,
        post_commithook_properties=LEAVE_LOG,
    )
    return int(done["numFilesRemoved"])


def vacuum(
    path: UPath, *, keep: Iterable[int] = (), before: datetime | None = None, execute: bool
) -> int:
    """Remove files that the table has not had for RETENTION, and that no commit ever had; how many.

    Keeps all files of the versions `keep`, and all that were written after `before`. Only counts
    without `execute`. It is a full one: a light one does not see the change feed's files, nor what
    a killed writer left.
    """
    table = door.open_table(path)
    kept = [*keep]

    def run(hours: int | None, *, dry_run: bool) -> list[str]:
        return table.vacuum(
            hours,
            dry_run=dry_run,
            full=True,
            keep_versions=kept or None,
            post_commithook_properties=LEAVE_LOG,
        )

    hours: int | None = _hours(before)
    try:
        unused = run(hours, dry_run=True)
    except deltalake.exceptions.DeltaError as error:
        if "retention" not in str(error).lower():
            raise
        hours = None  # the table's own retention is longer
        unused = run(hours, dry_run=True)
    if unused and execute:
        run(hours, dry_run=False)
    return len(unused)


def _hours(before: datetime | None) -> int:
    """The age of files to keep, in whole hours."""
    age = max(RETENTION, datetime.now(UTC) - before) if before else RETENTION
    return -int(-age // timedelta(hours=1))


def remove_checksums(path: UPath, *, execute: bool) -> int:
    """Remove checksums whose file VACUUM has removed; how many. Only counts without `execute`.

    Hadoop writes one beside each file on a disk, and delta-rs does not know them.
    """
    if is_remote(str(path)):
        return 0
    left = [
        checksum
        for checksum in path.rglob(".*.crc")
        if "_delta_log" not in checksum.parts
        and not checksum.with_name(checksum.name[1:].removesuffix(".crc")).exists()
        and _age(checksum) > RETENTION
    ]
    for checksum in left if execute else ():
        checksum.unlink(missing_ok=True)
    return len(left)


def _age(path: UPath) -> timedelta:
    return datetime.now(UTC) - at_seconds(path.stat().st_mtime)


def checkpoint(path: UPath) -> None:
    """Write a checkpoint of the table's log, from which readers begin, and remove entries before it
    that are older than the log's retention (30 days).
    """
    table = door.open_table(path)
    table.create_checkpoint()
    table.cleanup_metadata()
