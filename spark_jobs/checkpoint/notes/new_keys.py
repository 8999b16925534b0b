"""New keys: keys of records that no field names and somebody was told of, in new_keys.json beside
the checkpoint. So none is told twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.messages.part import NewKey
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from upath import UPath


class NewKeys(Stored):
    """The content of new_keys.json."""

    keys: tuple[NewKey, ...] = ()
    more: bool = False
    """Whether there were more than it may hold."""
    others: int = 0
    """Keys, of the first run that saw such, whose names may be data and are not told."""


def read_new_keys(path: UPath) -> NewKeys:
    """What was told; nothing without the file, or if it does not parse: then it is told again."""
    try:
        return NewKeys.read(path)
    except (FileNotFoundError, ValueError):
        return NewKeys().over(path)
