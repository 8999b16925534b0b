"""Wanted: what a person asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spark_jobs.values.spans import Span


class Wanted(NamedTuple):
    """Which records of a topic are to be taken out."""

    topic: str
    """Its name, behind that of its cluster."""
    where: str
    span: Span
    """The event times of the records."""
    reason: str
    who: str
    most_records: int
