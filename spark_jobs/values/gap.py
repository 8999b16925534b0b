"""Gap: times that a GroupState does not hold, as each Python worker must know them: so without the
rest of a spec, whose import takes a quarter of a second.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spark_jobs.values.field_types import Value


class Gap(NamedTuple):
    """Times that are not held, both ends included."""

    first: datetime
    last: datetime

    def has(self, value: Value | None) -> bool:
        """Whether the time, or the midnight of the date, is in it."""
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, datetime) and value.tzinfo is None:
            value = value.replace(tzinfo=UTC)  # a time without a zone, by its own clock
        return isinstance(value, datetime) and self.first <= value <= self.last


class Unheld(NamedTuple):
    """What is not held of one field."""

    field: str
    gaps: tuple[Gap, ...]
    why: str
    reached_if: tuple[str, ...]
    """SQL over the topic's fields: a record for which one of them is not true does not reach the
    GroupState.
    """

    def reason(self, value: Value | None) -> str:
        """Why a record with this value is malformed; empty if it is not."""
        if not any(gap.has(value) for gap in self.gaps):
            return ""
        told = value.replace(tzinfo=None) if isinstance(value, datetime) else value
        return f"{self.field} is {told!s}: {self.why}"
