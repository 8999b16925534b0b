"""Delta tables without a JVM: opened by delta-rs, on a disk or in an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from spark_jobs.contract.store import Store, is_s3

if TYPE_CHECKING:
    from upath import UPath


def open_table(path: UPath | str) -> deltalake.DeltaTable:
    """The table at its newest version."""
    return deltalake.DeltaTable(str(path), storage_options=options(path))


def is_table(path: UPath | str) -> bool:
    """Whether there is a Delta table at this path."""
    return deltalake.DeltaTable.is_deltatable(str(path), options(path))


def options(path: UPath | str) -> dict[str, str] | None:
    """What delta-rs must be told of the object store that the table is on; None for a disk."""
    return Store.from_environment().delta_options(str(path)) if is_s3(str(path)) else None


def has_version(path: UPath | str, version: int) -> bool:
    """Whether the table's log still has this version."""
    try:
        table = open_table(path)
        table.load_as_version(version)
    except (DeltaError, TableNotFoundError):
        return False
    return True


def version_is_whole(path: UPath, version: int) -> bool:
    """Whether the version can be read: its log entries and all its files are there."""
    if version == (table := open_table(path)).version():
        return True
    if not has_version(path, version):
        return False
    table.load_as_version(version)
    present = {file.name for file in path.iterdir()}
    return all(uri.rpartition("/")[2] in present for uri in table.file_uris())
