"""Entry: what a commit of a table says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict


class Note(TypedDict, total=False):
    """What a batch's commit says of itself; empty for another's commit."""

    sluice: str
    """The pipeline and its generation, with a slash between."""
    batch: int
    run: str
    fates: dict[str, int]
    """Of a table that follows a key (steps/keyed/fates.py)."""


class Entry(NamedTuple):
    """One commit of a table."""

    version: int
    does: Literal["rows", "nothing", "restore"] = "rows"
    """Whether it may have changed rows, has changed none, or has brought back an earlier version's
    rows.
    """
    said: Mapping[str, Any] = {}
    """What its writer said of it; empty for a stranger's."""
    at: datetime | None = None
    """When it was made; None if nobody knows."""
    rows: int | None = None
    """How many it wrote; None of one that writes none."""
    to: int | None = None
    """The version that it has restored; None if it has not, or nobody can tell."""
    marks: bool = False
    """Whether it only gives the table to a generation."""

    @property
    def note(self) -> Note:
        """Empty for anything that is not a batch of Sluice: a repair says another word."""
        owner, batch = self.said.get("sluice"), self.said.get("batch")
        if not isinstance(owner, str) or type(batch) is not int:
            return {}
        return {"sluice": owner, "batch": batch}


class OfBatch(NamedTuple):
    """The batch that a commit is of."""

    owner: str
    """The pipeline and its generation, with a slash between."""
    batch: int
    run: str
    records: int = 0
    """The most records that it may have."""

    @property
    def note(self) -> Note:
        """What its commit says of itself, together with its rows or not at all."""
        return {"sluice": self.owner, "batch": self.batch, "run": self.run}
