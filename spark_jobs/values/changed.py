"""Changed: what two versions of a table beside the stream have otherwise."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Changed(NamedTuple):
    """Rows that a later version has otherwise: what was computed with them may differ."""

    key: str | None
    """The columns of the table's key -> their values, as JSON; None: any key."""
    start: datetime | None
    """The first event time that it concerns; None: since ever."""
    end: datetime | None
    """The event time after the last; None: for ever."""
