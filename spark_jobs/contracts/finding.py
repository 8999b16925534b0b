"""Finding: one difference between two sides of a pipeline, and whom it breaks."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Whom(StrEnum):
    """Whom a change breaks."""

    state = "state"
    """The checkpoint: the next drain is refused."""
    table = "table"
    """The Delta table."""
    consumers = "consumers"
    """Who reads its rows, or its events."""
    producers = "producers"
    """Who writes the topic."""
    unknown = "unknown"
    """Nobody can tell: the commit's spec does not load, or only Spark knows its columns."""


class Finding(NamedTuple):
    """What changed; without `breaks`, it is told and breaks nobody."""

    change: str
    breaks: tuple[Whom, ...] = ()
    remedy: str = ""
