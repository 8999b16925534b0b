"""Compaction: joins small files of a Delta table, and removes files that no reader needs, without a
JVM.

Both go by Delta's own operations, in delta-rs: OPTIMIZE marks what it writes as no change of data,
so that streaming readers and the change feed see nothing. Each is one commit: a kill leaves the
table as it was, or as it should be, and files that the next VACUUM removes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import deltalake

from spark_jobs.root.store import is_remote
from spark_jobs.storage import delta

if TYPE_CHECKING:
    from upath import UPath

RETENTION = timedelta(days=7)
"""How long a file stays that the table no longer has: Delta's default. Readers may be at it."""
LARGE = 100 * 1024 * 1024
"""Bytes of a file that is not joined with others: delta-rs's default."""
ZSTD = deltalake.WriterProperties(compression="ZSTD", compression_level=6)
"""How the files of an archive are compressed, as sink/commit.py has it."""
_LEAVE_LOG = deltalake.PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""The log of a pipeline's table is Spark's to checkpoint and to clean up."""


def small_files(path: UPath, partition: dict[str, str] | None = None) -> int:
    """How many files of the table `compact` would read; 0 if there is nothing to join."""
    files = delta.open_table(path).get_add_actions(flatten=True)
    columns = {name: files.column(name).to_pylist() for name in files.schema.names if _names(name)}
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    wanted = {f"partition.{name}": value for name, value in (partition or {}).items()}
    small = Counter(
        tuple(value for name, value in sorted(row.items()) if name.startswith("partition."))
        for row in rows
        if row["size_bytes"] < LARGE and wanted.items() <= row.items()
    )
    return sum(count for count in small.values() if count > 1)


def _names(column: str) -> bool:
    return column == "size_bytes" or column.startswith("partition.")


def compact(
    path: UPath,
    partition: dict[str, str] | None = None,
    written: deltalake.WriterProperties | None = None,
) -> int:
    """Join small files, in one commit; how many it replaced. `written` is how the new ones are.

    Raises CommitFailedError if another writer has removed one of them meanwhile.
    """
    done = delta.open_table(path).optimize.compact(
        partition_filters=[(name, "=", value) for name, value in (partition or {}).items()] or None,
        target_size=LARGE,
        writer_properties=written,
        post_commithook_properties=_LEAVE_LOG,
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
    table = delta.open_table(path)
    kept = [*keep]

    def run(hours: int | None, *, dry_run: bool) -> list[str]:
        return table.vacuum(
            hours,
            dry_run=dry_run,
            full=True,
            keep_versions=kept or None,
            post_commithook_properties=_LEAVE_LOG,
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
    return datetime.now(UTC) - datetime.fromtimestamp(path.stat().st_mtime, UTC)


def checkpoint(path: UPath) -> None:
    """Write a checkpoint of the table's log, from which readers begin, and remove entries before it
    that are older than the log's retention (30 days).
    """
    table = delta.open_table(path)
    table.create_checkpoint()
    table.cleanup_metadata()
