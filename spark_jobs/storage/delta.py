"""Delta tables without a JVM: opened by delta-rs, wherever the root lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import deltalake

from spark_jobs.contract.store import Store, is_s3

if TYPE_CHECKING:
    from upath import UPath


def opened(path: UPath | str) -> deltalake.DeltaTable:
    """The table at its newest version."""
    return deltalake.DeltaTable(str(path), storage_options=options(path))


def is_table(path: UPath | str) -> bool:
    """Whether there is one."""
    return deltalake.DeltaTable.is_deltatable(str(path), options(path))


def options(path: UPath | str) -> dict[str, str] | None:
    """What delta-rs must be told of the object store that the table is on; None for a disk."""
    return Store.from_environment().delta_options(str(path)) if is_s3(str(path)) else None
