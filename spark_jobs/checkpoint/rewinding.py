"""Rewinding: the note of a rewind that has begun and not ended, in rewinding.json beside the
checkpoint.

A rewind changes table, ops tables, checkpoint and cursor, one after the other. A run between two of
them would take the table for damaged, or read records twice. So the note is written before the
first change and removed after the last. While it is there no run begins, and the same rewind goes
on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.stored import Stored
from spark_jobs.contract.errors import CheckpointBroken

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths


class Rewinding(Stored):
    """The content of rewinding.json."""

    batch: int
    """The batch to whose end it goes back."""
    generation: str
    """The next run's generation: the same, however often the rewind is cut off."""
    kept: str
    """The name of the folder, beside the checkpoint's, with a copy of the files from before."""
    copied: bool = False
    """Whether that copy is complete. Nothing is changed before."""


def read_rewinding(paths: Paths) -> Rewinding | None:
    """The rewind that was cut off; None without one.

    Raises CheckpointBroken if the note does not parse.
    """
    try:
        return Rewinding.read(paths.rewinding) if paths.rewinding.exists() else None
    except ValueError:
        raise CheckpointBroken(
            f"{paths.rewinding} does not parse: a rewind of {paths.pipeline} was cut off, and "
            "nobody knows to which batch.",
            f"Restore it from a copy, or start again from Kafka: sluice reset {paths.pipeline}",
        ) from None


def cut_off(paths: Paths, note: Rewinding) -> CheckpointBroken:
    """The error of a rewind that was cut off, with the command that goes on."""
    return CheckpointBroken(
        f"a rewind of {paths.pipeline} to the end of batch {note.batch} is under way, or was cut "
        "off: its table, checkpoint and account do not belong together yet.",
        "Run it again, and it continues where it stopped (LEASE_HELD means that it is under way): "
        f"sluice rewind {paths.pipeline} --to-batch {note.batch} --execute",
    )
