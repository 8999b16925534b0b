"""Repartitioning: the note of a repartition that has begun, in repartitioning.json beside the
checkpoint.

It is written before Spark begins, and removed once identity.json has the new number, or once what
is there was taken back. Only the batch that it names is ever taken back: another one whose number
of stores differs is not of a repartition that this Sluice has begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.stored import Stored
from spark_jobs.contract.errors import CheckpointBroken

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths


class Repartitioning(Stored):
    """The content of repartitioning.json."""

    batch: int
    """The batch that Spark writes: one more than the newest that counted."""
    number: int
    """Of the stores that each stateful step had before."""
    wanted: int
    """Of those that it is to have; another number."""


def read_repartitioning(paths: Paths) -> Repartitioning | None:
    """The note; None without one.

    Raises CheckpointBroken if it does not parse.
    """
    try:
        exists = paths.repartitioning.exists()
        return Repartitioning.read(paths.repartitioning) if exists else None
    except ValueError:
        raise CheckpointBroken(
            f"{paths.repartitioning} does not parse: a repartition of {paths.pipeline} was cut "
            "off, and nobody knows which batch is its own.",
            f"Restore it from a copy, or let it be moved away: sluice doctor {paths.pipeline}",
        ) from None
