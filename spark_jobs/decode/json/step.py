"""Steps: the way from a record to a value in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Step(NamedTuple):
    """From an object or an array to what is in it."""

    name: str
    """The attribute, of an object."""
    place: int | None
    """Of an array."""
    sure: bool
    """Whether what it starts from is never null."""
    decode: Callable[[bytes], Any] | None = None
    """What reads that value of an array: the others may be of any type."""
