"""Port: what a pipeline asks of the table that it writes."""

from __future__ import annotations

from typing import TypedDict


class Note(TypedDict, total=False):
    """What a batch's commit says of itself; empty for another's commit."""

    sluice: str
    """The pipeline and its generation, with a slash between."""
    batch: int
    run: str
    fates: dict[str, int]
    """Of a table that follows a key (sink/keyed/fates.py)."""
