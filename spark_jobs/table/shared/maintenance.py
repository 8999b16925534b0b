"""Maintenance: what `sluice maintain` does in a shared table, in steps that are complete in
themselves. Each raises TableContended or MaintenanceRefused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from spark_jobs.table.delta import compaction, door
from spark_jobs.table.delta.care_steps import in_words
from spark_jobs.table.shared.table import CHECKPOINTS, PART, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath


def vacuum(path: UPath, *, execute: bool) -> int:
    """Remove files that the table has not had for RETENTION; how many. Safe beside writers."""
    with in_words(path):
        return compaction.vacuum(path, execute=execute)


def checkpoint(path: UPath) -> None:
    """Write a checkpoint of the log; and CHECKPOINTS, where an older Sluice has made the table."""
    with in_words(path):
        if not CHECKPOINTS.items() <= door.open_table(path).metadata().configuration.items():
            door.patiently(lambda: door.set_properties(door.open_table(path), CHECKPOINTS))()
        compaction.checkpoint(path)


def small_files(path: UPath, pipeline: str) -> int:
    """How many of the pipeline's files `join` would join; 0 without a table."""
    return compaction.small_files(path, {PART: pipeline}) if door.is_table(path) else 0


def join(path: UPath, pipeline: str) -> None:
    """Join the pipeline's small files."""
    with in_words(path):
        _joined(path, {PART: pipeline})


_joined = door.patiently(compaction.compact)


def remove(path: UPath, where: str) -> None:
    """Remove the rows for which the SQL holds."""
    with in_words(path):
        replace(path, pa.schema(door.open_table(path).schema().to_arrow()).empty_table(), where)


def update(path: UPath, to: Mapping[str, str], where: str) -> None:
    """Set columns to what SQL gives, in the rows for which the SQL holds, in one commit."""
    with in_words(path):
        patient = door.patiently(lambda: door.open_table(path).update(dict(to), predicate=where))
        patient()
