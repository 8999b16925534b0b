"""Switching: the note of a switch from one state version to another, until all its steps are done.

The steps are those of rebuild/switch.py. While the note is there, the next drain completes them,
and every other command refuses.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import CheckpointBroken

if TYPE_CHECKING:
    from upath import UPath


class Switching(Stored):
    """The content of switching.json."""

    switch_id: str
    """In the commit's userMetadata: a switch that was cut off behind it commits nothing again."""
    began: datetime
    back: bool
    """Whether it takes the last switch back: the rows come from the table's own history."""
    version: int
    """The state version that is to drain."""
    replaced: int
    """The one that drained before."""
    rows_of: int
    """The version of the table that has the rows: the side table's, or this table's own."""
    table_version: int
    """The table's version when the switch began."""
    generation: str
    """Of the checkpoint that was live then."""
    next_generation: str
    """Of the checkpoint that is to be live."""
    batch: int
    """The newest batch of that one."""


def read_switching(path: UPath) -> Switching | None:
    """The note; None if no switch is under way. Raises CheckpointBroken if it does not parse."""
    try:
        return Switching.read(path) if path.exists() else None
    except FileNotFoundError:  # the switch has ended between the two
        return None
    except ValueError:
        raise checkpoint_broken(f"{path} does not parse", path.parent.name) from None


def refuse_cut_off(path: UPath) -> None:
    """Raise CheckpointBroken while a switch is under way, or was cut off."""
    if note := read_switching(path):
        raise CheckpointBroken(
            f"a switch of {path.parent.name} to state version {note.version} was cut off, or is "
            "under way.",
            f"The next run completes it: sluice drain {path.parent.name}",
        )
